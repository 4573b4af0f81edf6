-- Write down of what a user does not want to be told.
--
-- KEYS[1] profile   hash
-- ARGV[1] the kinds that are switched off, separated by spaces
--
-- Returns 1, or 0 when the user is gone.

if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if ARGV[1] == '' then
  redis.call('HDEL', KEYS[1], 'notifications_off')
else
  redis.call('HSET', KEYS[1], 'notifications_off', ARGV[1])
end
return 1
