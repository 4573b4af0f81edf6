-- Count one action in a sliding window, unless the window is full or the last one was too recent.
--
-- KEYS[1] window   zset of what was done, by time
-- ARGV[1] now, ms
-- ARGV[2] id of this action
-- ARGV[3] how many are allowed
-- ARGV[4] length of the window, ms
-- ARGV[5] shortest gap between two, ms
--
-- Returns 0 when it was counted, else the milliseconds to wait.

local now = tonumber(ARGV[1])
local length = tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - length)
if redis.call('ZSCORE', KEYS[1], ARGV[2]) then return 0 end
local free = now
local newest = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
if newest[2] then free = math.max(free, tonumber(newest[2]) + tonumber(ARGV[5])) end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  free = math.max(free, tonumber(oldest[2]) + length)
end
if free > now then return math.max(1, free - now) end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], length)
return 0
