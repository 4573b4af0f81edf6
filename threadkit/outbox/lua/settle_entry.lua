-- Take an entry out of the outbox, and put aside what could not be done about it.
--
-- KEYS[1] outbox            stream
-- KEYS[2] outbox_due        zset: name → when it is tried again
-- KEYS[3] outbox_retrying   hash: name → what is tried again
-- KEYS[4] outbox_dead       stream
-- ARGV[1] entry id
-- ARGV[2] what is tried again, as a JSON list of [name, due ms as text, record]
-- ARGV[3] what is given up, as a JSON list of lists of fields and values
-- ARGV[4] how many dead letters are kept
--
-- Returns 1, or 0 when another worker has settled it before.

if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
for _, item in ipairs(cjson.decode(ARGV[2])) do
  redis.call('HSET', KEYS[3], item[1], item[3])
  redis.call('ZADD', KEYS[2], item[2], item[1])
end
for _, fields in ipairs(cjson.decode(ARGV[3])) do
  redis.call('XADD', KEYS[4], 'MAXLEN', ARGV[4], '*', unpack(fields))
end
return 1
