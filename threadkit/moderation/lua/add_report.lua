-- Keep a report: one for each person and comment, the newest words.
--
-- KEYS[1] comment           hash
-- KEYS[2] reports           zset of the site
-- KEYS[3] comment_reports   hash: reporter → report
-- ARGV[1] reporter
-- ARGV[2] the report, as JSON
-- ARGV[3] now, ms
-- ARGV[4] weight of the reporter
--
-- Returns {how many people reported it, their weight together as text}, or {} when there is nothing to report.

local status = redis.call('HGET', KEYS[1], 'status')
if not status or status == 'deleted' or status == 'rejected' then return {} end
local before = redis.call('HGET', KEYS[3], ARGV[1])
if before then redis.call('ZREM', KEYS[2], before) end
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[2])
local weight = redis.call('HGET', KEYS[1], 'report_weight') or '0'
if not before then weight = redis.call('HINCRBYFLOAT', KEYS[1], 'report_weight', ARGV[4]) end
return { redis.call('HLEN', KEYS[3]), weight }
