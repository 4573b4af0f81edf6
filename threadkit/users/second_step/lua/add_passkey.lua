-- Add a passkey, and ask for the second step from now on.
--
-- KEYS[1] profile          hash; nobody who is gone gets a second step
-- KEYS[2] session          hash of the device on which it was made, which has passed it thereby
-- KEYS[3] passkeys         hash, JSON by id
-- KEYS[4] recovery_codes   set
-- ARGV[1] id of the passkey
-- ARGV[2] the passkey, as JSON
-- ARGV[3] most passkeys somebody may have
-- ARGV[4] now, ms
-- ARGV[5] digests of recovery codes, as a JSON list, for somebody who has none
--
-- Returns 'OK', 'WITH_CODES' when the recovery codes were taken too, 'GONE', 'KNOWN', or 'TOO_MANY'.

if redis.call('EXISTS', KEYS[1], KEYS[2]) < 2 then return 'GONE' end
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then return 'KNOWN' end
if redis.call('HLEN', KEYS[3]) >= tonumber(ARGV[3]) then return 'TOO_MANY' end
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[1], 'has_second_step', 'true')
redis.call('HSET', KEYS[2], 'passed_second_step', 'true', 'proved_ms', ARGV[4])
if redis.call('EXISTS', KEYS[4]) == 1 then return 'OK' end
redis.call('SADD', KEYS[4], unpack(cjson.decode(ARGV[5])))
return 'WITH_CODES'
