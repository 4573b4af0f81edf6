-- Write down what was done to somebody on every site, unless this site's log tells of it already.
--
-- KEYS[1] modlog   stream
-- KEYS[2] outbox   stream
-- ARGV[1] the deed's id
-- ARGV[2] log entry, as JSON, with that id in it
-- ARGV[3] among how many of the newest entries it may be
-- ARGV[4] event for the outbox, as JSON, or ''
--
-- Returns the id of the log entry.

for _, found in ipairs(redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', ARGV[3])) do
  if string.find(found[2][2], ARGV[1], 1, true) then return found[1] end
end
if ARGV[4] ~= '' then redis.call('XADD', KEYS[2], '*', 'event', ARGV[4]) end
return redis.call('XADD', KEYS[1], '*', 'entry', ARGV[2])
