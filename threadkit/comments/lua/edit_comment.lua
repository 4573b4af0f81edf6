-- Give a comment a new text, if it is still there and still the same as when it was read.
--
-- KEYS[1] comment   hash
-- KEYS[2] page      hash
-- ARGV[1] updated_at the text was edited from
-- ARGV[2] fields and values to set, as a JSON list
-- ARGV[3] now, ms
-- ARGV[4] fields to remove, as a JSON list
-- ARGV[5] the new text
--
-- Returns 'OK', 'GONE', 'LOCKED' or 'CHANGED'.

local found = redis.call('HMGET', KEYS[1], 'status', 'updated_at', 'is_shadowed', 'content')
if not found[1] or found[1] == 'deleted' then return 'GONE' end
if redis.call('HGET', KEYS[2], 'locked') == 'true' then return 'LOCKED' end
-- The same write sent twice, after a lost answer, is fine.
if found[2] ~= ARGV[1] then return found[4] == ARGV[5] and 'OK' or 'CHANGED' end
redis.call('HSET', KEYS[1], unpack(cjson.decode(ARGV[2])))
local gone = cjson.decode(ARGV[4])
if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone)) end
if found[1] == 'approved' and found[3] ~= 'true' then
  redis.call('HINCRBY', KEYS[2], 'version', 1)
  redis.call('HSET', KEYS[2], 'updated_ms', ARGV[3])
end
return 'OK'
