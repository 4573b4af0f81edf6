-- Write a site's record, unless somebody else changed it since it was read.
--
-- KEYS[1] config   hash
-- KEYS[2] modlog   stream
-- ARGV[1] version the change was made from; '0' for a new site
-- ARGV[2] fields and values of the whole record, as a JSON list
-- ARGV[3] log entry, as JSON, or ''
--
-- Returns 'OK', 'TAKEN' when a new site is there already, 'CHANGED' when the versions differ.

local found = redis.call('HGET', KEYS[1], 'version') or '0'
local fields = cjson.decode(ARGV[2])
if found ~= ARGV[1] then
  -- The same write sent twice, after a lost answer, is fine.
  local record = {}
  for i = 1, #fields, 2 do record[fields[i]] = fields[i + 1] end
  if found == record.version then
    local same = true
    for name, value in pairs(record) do
      if redis.call('HGET', KEYS[1], name) ~= value then same = false end
    end
    if same then return 'OK' end
  end
  return ARGV[1] == '0' and 'TAKEN' or 'CHANGED'
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(fields))
if ARGV[3] ~= '' then redis.call('XADD', KEYS[2], '*', 'entry', ARGV[3]) end
return 'OK'
