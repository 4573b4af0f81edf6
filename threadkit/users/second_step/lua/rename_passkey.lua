-- Call a passkey otherwise.
--
-- KEYS[1] passkeys   hash, JSON by id
-- ARGV[1] id of the passkey
-- ARGV[2] its new name
--
-- Returns 1, or 0 when it is not there.

local text = redis.call('HGET', KEYS[1], ARGV[1])
if not text then return 0 end
local passkey = cjson.decode(text)
passkey.name = ARGV[2]
redis.call('HSET', KEYS[1], ARGV[1], cjson.encode(passkey))
return 1
