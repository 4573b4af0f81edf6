-- Close all reports of a comment: somebody has looked, and it may stay.
--
-- KEYS[1] comment           hash
-- KEYS[2] reports           zset of the site
-- KEYS[3] comment_reports   hash: reporter → report
-- KEYS[4] modlog            stream
-- ARGV[1] log entry, as JSON
--
-- Returns the people who had reported it.

local people = redis.call('HKEYS', KEYS[3])
if #people == 0 then return people end
for _, report in ipairs(redis.call('HVALS', KEYS[3])) do redis.call('ZREM', KEYS[2], report) end
redis.call('DEL', KEYS[3])
redis.call('HDEL', KEYS[1], 'report_weight')
redis.call('XADD', KEYS[4], '*', 'entry', ARGV[1])
return people
