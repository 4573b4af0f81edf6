-- Give back what a costly action took that came to nothing. Doing so twice changes nothing.
--
-- KEYS[1] minute   zset of the last minute's actions
-- KEYS[2] daily    string: how many there were on the day it was taken from
-- KEYS[3] pace     zset of what was done lately
-- ARGV[1] id of the action
--
-- Returns 1 when it was given back, 0 when there was nothing to give back.

redis.call('ZREM', KEYS[3], ARGV[1])
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
if tonumber(redis.call('GET', KEYS[2]) or '0') > 0 then redis.call('DECR', KEYS[2]) end
return 1
