-- Replace a session's refresh token by the next one. An old one that comes back ends the whole family.
--
-- KEYS[1] session            hash
-- KEYS[2] provider_session   string
-- KEYS[3] sessions           set
-- ARGV[1] session id
-- ARGV[2] refresh id that was presented
-- ARGV[3] refresh id to go on with
-- ARGV[4] now, ms
-- ARGV[5] for how long the one before is still taken, ms: parallel tabs
-- ARGV[6] lifetime, s
--
-- Returns the refresh id to hand out, 'GONE' when the session is over, 'REUSED' when it was just ended.

local current, previous, rotated = unpack(redis.call('HMGET', KEYS[1], 'refresh_id', 'previous_id', 'rotated_ms'))
if not current then return 'GONE' end
if ARGV[2] == current then
  redis.call('HSET', KEYS[1], 'refresh_id', ARGV[3], 'previous_id', current, 'rotated_ms', ARGV[4])
  redis.call('EXPIRE', KEYS[1], ARGV[6])
  redis.call('EXPIRE', KEYS[2], ARGV[6])
  redis.call('EXPIRE', KEYS[3], ARGV[6])
  return ARGV[3]
end
if ARGV[2] == previous and tonumber(ARGV[4]) - tonumber(rotated or '0') <= tonumber(ARGV[5]) then
  return current
end
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('SREM', KEYS[3], ARGV[1])
return 'REUSED'
