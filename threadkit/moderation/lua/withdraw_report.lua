-- Take one person's report away, because that person leaves. What it did to the comment stays done.
--
-- KEYS[1] comment           hash
-- KEYS[2] reports           zset of the site
-- KEYS[3] comment_reports   hash: reporter → report
-- ARGV[1] reporter
--
-- Returns 1, or 0 when there is none.

local report = redis.call('HGET', KEYS[3], ARGV[1])
if not report then return 0 end
redis.call('ZREM', KEYS[2], report)
redis.call('HDEL', KEYS[3], ARGV[1])
if redis.call('EXISTS', KEYS[3]) == 0 then redis.call('HDEL', KEYS[1], 'report_weight') end
return 1
