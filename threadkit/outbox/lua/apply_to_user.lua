-- Let one outbox entry have its effect on a user's numbers, once.
--
-- KEYS[1] profile   hash
-- KEYS[2] applied   hash: site → newest entry that had its effect
-- ARGV[1] site id
-- ARGV[2] entry id, padded so that later ones compare as greater
-- ARGV[3] field
-- ARGV[4] change
--
-- Returns 1 when it had its effect, 0 when it had it before or the user is gone.

if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local newest = redis.call('HGET', KEYS[2], ARGV[1])
if newest and newest >= ARGV[2] then return 0 end
redis.call('HINCRBY', KEYS[1], ARGV[3], ARGV[4])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
return 1
