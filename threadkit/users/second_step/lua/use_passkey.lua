-- Note that a passkey was used. One whose counter does not rise has been copied.
--
-- KEYS[1] passkeys   hash, JSON by id
-- ARGV[1] id of the passkey
-- ARGV[2] its counter now; 0 for those that do not count
-- ARGV[3] now, as text
--
-- Returns 'OK', 'COPIED', or 'GONE'.

local text = redis.call('HGET', KEYS[1], ARGV[1])
if not text then return 'GONE' end
local passkey = cjson.decode(text)
local count = tonumber(ARGV[2])
if (count > 0 or passkey.sign_count > 0) and count <= passkey.sign_count then return 'COPIED' end
passkey.sign_count = count
passkey.last_used = ARGV[3]
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(passkey))
return 'OK'
