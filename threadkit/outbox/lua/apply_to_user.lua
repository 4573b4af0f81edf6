-- Let one outbox entry have its effect on a user's numbers, once.
--
-- KEYS[1] profile   hash
-- KEYS[2] applied   hash: site → newest entry that was looked at; 'site entry' → one that was put off
-- ARGV[1] site id
-- ARGV[2] entry id, padded so that later ones compare as greater
-- ARGV[3] field
-- ARGV[4] change
--
-- Returns 1 when it had its effect, 0 when it had it before or the user is gone.

if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local put_off = ARGV[1] .. ' ' .. ARGV[2]
local is_late = redis.call('HEXISTS', KEYS[2], put_off) == 1
local newest = redis.call('HGET', KEYS[2], ARGV[1])
if not is_late and newest and newest >= ARGV[2] then return 0 end
-- First what can fail: a script that fails half way keeps what it did.
redis.call('HINCRBY', KEYS[1], ARGV[3], ARGV[4])
if is_late then
  redis.call('HDEL', KEYS[2], put_off)
else
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
end
return 1
