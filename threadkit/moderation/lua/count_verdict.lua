-- Remember what became of somebody's report. Of several about one comment the latest counts.
--
-- KEYS[1] reporter   zset: '{comment} upheld' or '{comment} dismissed' by the time it was closed
-- ARGV[1] comment id
-- ARGV[2] 'upheld' or 'dismissed'
-- ARGV[3] when it was closed, ms
-- ARGV[4] how many are kept
--
-- Returns 1, or 0 when a later one is known.

local other = ARGV[1] .. (ARGV[2] == 'upheld' and ' dismissed' or ' upheld')
local known = redis.call('ZSCORE', KEYS[1], other)
if known and tonumber(known) > tonumber(ARGV[3]) then return 0 end
redis.call('ZREM', KEYS[1], other)
redis.call('ZADD', KEYS[1], 'GT', ARGV[3], ARGV[1] .. ' ' .. ARGV[2])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - tonumber(ARGV[4]))
return 1
