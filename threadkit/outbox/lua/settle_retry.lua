-- Write down how another try went: done, to be tried again, or given up.
--
-- KEYS[1] outbox_due        zset: name → when it is tried again
-- KEYS[2] outbox_retrying   hash: name → what is tried again
-- KEYS[3] outbox_dead       stream
-- ARGV[1] name
-- ARGV[2] how many tries there were before this one
-- ARGV[3] when it is tried again, ms, or ''
-- ARGV[4] what is tried again, with the new number of tries, or ''
-- ARGV[5] the dead letter, as a JSON list of fields and values; empty when it is not given up
-- ARGV[6] how many dead letters are kept
--
-- Returns 1, or 0 when another worker has settled this try before.

local record = redis.call('HGET', KEYS[2], ARGV[1])
if not record or cjson.decode(record).tries ~= tonumber(ARGV[2]) then return 0 end
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[4])
  redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
  return 1
end
local fields = cjson.decode(ARGV[5])
if #fields > 0 then redis.call('XADD', KEYS[3], 'MAXLEN', ARGV[6], '*', unpack(fields)) end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[1], ARGV[1])
return 1
