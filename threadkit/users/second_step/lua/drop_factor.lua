-- Take away one-time codes, a passkey, or all of them. With the last one the second step and its recovery codes go too.
--
-- KEYS[1] profile          hash
-- KEYS[2] totp             hash
-- KEYS[3] totp_draft       string
-- KEYS[4] passkeys         hash
-- KEYS[5] recovery_codes   set
-- ARGV[1] 'totp', 'passkey' or 'all'
-- ARGV[2] id of the passkey, or ''
--
-- Returns how many there were to take away.

local gone = 0
if ARGV[1] == 'all' then gone = redis.call('HLEN', KEYS[4]) + redis.call('DEL', KEYS[2]) end
if ARGV[1] == 'totp' then gone = redis.call('DEL', KEYS[2]) end
if ARGV[1] == 'passkey' then gone = redis.call('HDEL', KEYS[4], ARGV[2]) end
if ARGV[1] == 'all' then redis.call('DEL', KEYS[3], KEYS[4]) end
if redis.call('EXISTS', KEYS[2], KEYS[4]) == 0 then
  redis.call('HDEL', KEYS[1], 'has_second_step')
  redis.call('DEL', KEYS[5])
end
return gone
