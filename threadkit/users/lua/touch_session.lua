-- Note that a session was used, and let its time begin anew.
--
-- KEYS[1] session            hash
-- KEYS[2] provider_session   string, JSON
-- KEYS[3] sessions           set
-- ARGV[1] now, as text
-- ARGV[2] now, ms
-- ARGV[3] lifetime, s
--
-- Returns 1, or 0 when the session is gone.

if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], 'last_used', ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
redis.call('EXPIRE', KEYS[3], ARGV[3])
local provider = redis.call('GET', KEYS[2])
if provider then
  local record = cjson.decode(provider)
  record.last_seen_at = tonumber(ARGV[2])
  redis.call('SET', KEYS[2], cjson.encode(record), 'EX', ARGV[3])
end
return 1
