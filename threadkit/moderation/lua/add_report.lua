-- Keep a report: one for each person and comment, the newest words.
--
-- KEYS[1] comment           hash
-- KEYS[2] reports           zset of the site
-- KEYS[3] comment_reports   hash: reporter → report
-- KEYS[4] report_sources    set: addresses of guests who reported it
-- KEYS[5] outbox            stream
-- ARGV[1] reporter
-- ARGV[2] the report, as JSON
-- ARGV[3] now, ms
-- ARGV[4] weight of the reporter
-- ARGV[5] address of a guest, as a keyed hash; '' for others
-- ARGV[6] how long it is kept, s
-- ARGV[7] the weight that hides a comment
-- ARGV[8] event for the outbox when it is reached, as JSON
--
-- Returns {how many people reported it, their weight together as text}, or {} when there is nothing to report.

local status = redis.call('HGET', KEYS[1], 'status')
if not status or status == 'deleted' or status == 'rejected' then return {} end
local before = redis.call('HGET', KEYS[3], ARGV[1])
if before then redis.call('ZREM', KEYS[2], before) end
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[2])
-- Guests of one address may be one person with many names: together they weigh what the first of them does.
local is_new = not before and (ARGV[5] == '' or redis.call('SADD', KEYS[4], ARGV[5]) == 1)
if ARGV[5] ~= '' then redis.call('EXPIRE', KEYS[4], ARGV[6]) end
local was, least = tonumber(redis.call('HGET', KEYS[1], 'report_weight') or '0'), tonumber(ARGV[7])
-- The field is there as long as there are reports, whatever they weigh.
local weight = redis.call('HINCRBYFLOAT', KEYS[1], 'report_weight', is_new and ARGV[4] or '0')
-- Written here, so that it is hidden though whoever reports it last gets no further than this.
if was < least and tonumber(weight) >= least then redis.call('XADD', KEYS[5], '*', 'event', ARGV[8]) end
return { redis.call('HLEN', KEYS[3]), weight }
