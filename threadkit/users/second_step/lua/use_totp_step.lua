-- Use a one-time code up: its step counts once, and no earlier one counts after it.
--
-- KEYS[1] totp   hash
-- ARGV[1] the secret the code was compared with, encrypted
-- ARGV[2] step of the code
--
-- Returns 'OK', 'USED', or 'GONE' when there is another secret by now, or none.

local secret, newest = unpack(redis.call('HMGET', KEYS[1], 'secret', 'step'))
if secret ~= ARGV[1] then return 'GONE' end
if tonumber(ARGV[2]) <= tonumber(newest) then return 'USED' end
redis.call('HSET', KEYS[1], 'step', ARGV[2])
return 'OK'
