-- Take back that an appeal was declined: it waits again, as if nobody had decided.
--
-- KEYS[1] comment   hash
-- KEYS[2] appeals   zset of the site
-- KEYS[3] modlog    stream
-- KEYS[4] outbox    stream
-- ARGV[1] comment id
-- ARGV[2] id of the log entry that is taken back
-- ARGV[3] what was said of the comment before, as JSON: {decided_by, decided_in}
-- ARGV[4] log entry, as JSON
-- ARGV[5] event for the outbox, as JSON
--
-- Returns {'OK', id of the log entry}, or {'LATER'} when something was decided since.

local found = redis.call('HMGET', KEYS[1], 'appeal_state', 'decided_in', 'appealed_ms')
if found[1] ~= 'declined' or found[2] ~= ARGV[2] then return { 'LATER' } end
local said = cjson.decode(ARGV[3])
redis.call('HSET', KEYS[1], 'appeal_state', 'open')
for _, name in ipairs({ 'decided_by', 'decided_in' }) do
  if said[name] then
    redis.call('HSET', KEYS[1], name, said[name])
  else
    redis.call('HDEL', KEYS[1], name)
  end
end
redis.call('ZADD', KEYS[2], found[3], ARGV[1])
redis.call('XADD', KEYS[4], '*', 'event', ARGV[5])
return { 'OK', redis.call('XADD', KEYS[3], '*', 'entry', ARGV[4]) }
