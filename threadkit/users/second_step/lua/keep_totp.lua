-- Keep a secret for one-time codes whose first code was right, and ask for the second step from now on.
--
-- KEYS[1] profile          hash; nobody who is gone gets a second step
-- KEYS[2] session          hash of the device on which it was set up, which has passed it thereby
-- KEYS[3] totp_draft       string
-- KEYS[4] totp             hash
-- KEYS[5] recovery_codes   set
-- ARGV[1] the secret, encrypted, as it stands in the draft
-- ARGV[2] step of the first code, which is used up thereby
-- ARGV[3] now, as text
-- ARGV[4] now, ms
-- ARGV[5] digests of recovery codes, as a JSON list, for somebody who has none
--
-- Returns 'OK', 'WITH_CODES' when the recovery codes were taken too, or 'GONE' when another secret was drafted meanwhile.

if redis.call('GET', KEYS[3]) ~= ARGV[1] or redis.call('EXISTS', KEYS[1], KEYS[2]) < 2 then return 'GONE' end
redis.call('DEL', KEYS[3])
redis.call('HSET', KEYS[4], 'secret', ARGV[1], 'since', ARGV[3], 'step', ARGV[2])
redis.call('HSET', KEYS[1], 'has_second_step', 'true')
redis.call('HSET', KEYS[2], 'passed_second_step', 'true', 'proved_ms', ARGV[4])
if redis.call('EXISTS', KEYS[5]) == 1 then return 'OK' end
redis.call('SADD', KEYS[5], unpack(cjson.decode(ARGV[5])))
return 'WITH_CODES'
