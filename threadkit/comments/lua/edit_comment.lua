-- Give a comment a new text, if it is still there and still the same as when it was read.
--
-- KEYS[1] comment   hash
-- KEYS[2] page      hash
-- ARGV[1] updated_at the text was edited from
-- ARGV[2] fields and values to set, as a JSON list
-- ARGV[3] now, ms
--
-- Returns 'OK', 'GONE' or 'CHANGED'.

local found = redis.call('HMGET', KEYS[1], 'status', 'updated_at', 'is_shadowed')
if not found[1] or found[1] == 'deleted' then return 'GONE' end
if found[2] ~= ARGV[1] then return 'CHANGED' end
redis.call('HSET', KEYS[1], unpack(cjson.decode(ARGV[2])))
if found[1] == 'approved' and found[3] ~= 'true' then
  redis.call('HINCRBY', KEYS[2], 'version', 1)
  redis.call('HSET', KEYS[2], 'updated_ms', ARGV[3])
end
return 'OK'
