-- Put new tokens into a provider's session, or end it, unless somebody has refreshed it meanwhile or it is gone.
--
-- KEYS[1] provider_session   string, JSON
-- ARGV[1] the ver that was refreshed
-- ARGV[2] fields to replace, as a JSON object, or '' to end the session
--
-- Returns 1, or 0 when it is not this version any more. When the user was last seen and the lifetime stay as they are.

local text = redis.call('GET', KEYS[1])
if not text then return 0 end
local record = cjson.decode(text)
if record.ver ~= tonumber(ARGV[1]) then return 0 end
if ARGV[2] == '' then return redis.call('DEL', KEYS[1]) end
for name, value in pairs(cjson.decode(ARGV[2])) do record[name] = value end
record.ver = record.ver + 1
redis.call('SET', KEYS[1], cjson.encode(record), 'KEEPTTL')
return 1
