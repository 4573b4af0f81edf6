-- Change fields of a user who is still there.
--
-- KEYS[1] profile   hash
-- ARGV[1] fields and values to set, as a JSON list
-- ARGV[2] fields to remove, as a JSON list
-- ARGV[3] what some fields must still be, as JSON; '' for absent
--
-- Returns 1, 0 when the user is gone, -1 when one of those fields is another by now.

if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
for field, was in pairs(cjson.decode(ARGV[3])) do
  if (redis.call('HGET', KEYS[1], field) or '') ~= was then return -1 end
end
local set = cjson.decode(ARGV[1])
local remove = cjson.decode(ARGV[2])
if #set > 0 then redis.call('HSET', KEYS[1], unpack(set)) end
if #remove > 0 then redis.call('HDEL', KEYS[1], unpack(remove)) end
return 1
