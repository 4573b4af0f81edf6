-- Let a costly action through, unless the day, the minute or the pace forbids it. A refusal changes nothing.
--
-- KEYS[1] minute   zset of the last minute's actions by second
-- KEYS[2] daily    string: how many there were on this day
-- KEYS[3] pace     zset of what was done lately by second; only if ARGV[6] is given
-- ARGV[1] now in seconds; empty for the store's own clock, on which all workers agree
-- ARGV[2] id of this action
-- ARGV[3] how many are allowed in a minute
-- ARGV[4] how many are allowed in a day
-- ARGV[5] seconds until the day is over
-- ARGV[6] how many are allowed in the pace's time
-- ARGV[7] the pace's time in seconds
-- ARGV[8] the shortest pause between two in seconds
--
-- Returns {0, id} when it was let through, else {1, seconds} for the minute, {2, 'daily'}, or {3, seconds} for the pace.

local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1000000
end
local function wait_until(moment) return math.max(1, math.ceil(moment - now)) end
local function oldest(key) return tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) end
local at = string.format('%.6f', now)

if redis.call('ZSCORE', KEYS[1], ARGV[2]) then return {0, ARGV[2]} end
if tonumber(redis.call('GET', KEYS[2]) or '0') >= tonumber(ARGV[4]) then return {2, 'daily'} end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.6f', now - 60))
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return {1, wait_until(oldest(KEYS[1]) + 60)} end
if ARGV[6] then
  local seconds = tonumber(ARGV[7])
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', string.format('%.6f', now - seconds))
  local free = now
  local newest = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2]
  if newest then free = math.max(free, tonumber(newest) + tonumber(ARGV[8])) end
  if redis.call('ZCARD', KEYS[3]) >= tonumber(ARGV[6]) then free = math.max(free, oldest(KEYS[3]) + seconds) end
  if free > now then return {3, wait_until(free)} end
  redis.call('ZADD', KEYS[3], at, ARGV[2])
  redis.call('EXPIRE', KEYS[3], math.ceil(math.max(seconds, tonumber(ARGV[8]))))
end
redis.call('ZADD', KEYS[1], at, ARGV[2])
redis.call('EXPIRE', KEYS[1], 90)
redis.call('INCR', KEYS[2])
if redis.call('TTL', KEYS[2]) < 0 then redis.call('EXPIRE', KEYS[2], ARGV[5]) end
return {0, ARGV[2]}
