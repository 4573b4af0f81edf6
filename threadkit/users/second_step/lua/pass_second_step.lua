-- Note that whoever uses a session has passed the second step, which also shows again who they are.
--
-- KEYS[1] session   hash
-- ARGV[1] now, ms
--
-- Returns 1, or 0 when the session is gone.

if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'passed_second_step', 'true', 'proved_ms', ARGV[1])
return 1
