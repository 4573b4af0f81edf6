-- Read the same fields of many hashes: one answer instead of hundreds.
--
-- KEYS[1] then the hashes
-- ARGV[1] then the fields
--
-- Returns for each hash the values, or {} when it is no hash.

local found = {}
for number, key in ipairs(KEYS) do
  local values = redis.pcall('HMGET', key, unpack(ARGV))
  found[number] = values.err and {} or values
end
return found
