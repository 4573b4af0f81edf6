-- Replace the recovery codes of somebody who has a second step.
--
-- KEYS[1] profile          hash
-- KEYS[2] recovery_codes   set
-- ARGV[1] digests of the new ones, as a JSON list
--
-- Returns 1, or 0 when there is no second step.

if redis.call('HGET', KEYS[1], 'has_second_step') ~= 'true' then return 0 end
redis.call('DEL', KEYS[2])
redis.call('SADD', KEYS[2], unpack(cjson.decode(ARGV[1])))
return 1
