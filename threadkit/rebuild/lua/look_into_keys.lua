-- Look at many keys at once: their type and lifetime, the record they belong to, and of indexes the first members.
--
-- KEYS[1] then, for each key: the key, and the record it belongs to (or the key again)
-- ARGV[1] how many members of an index
--
-- Returns for each key {type, time to live in ms, site_id and page_id of the record or '', members}.

local found = {}
for at = 1, #KEYS, 2 do
  local kind = redis.call('TYPE', KEYS[at]).ok
  local owner = {}
  if KEYS[at + 1] ~= KEYS[at] or kind == 'hash' then owner = redis.pcall('HMGET', KEYS[at + 1], 'site_id', 'page_id') end
  local members = kind == 'zset' and redis.call('ZRANGE', KEYS[at], 0, ARGV[1] - 1) or {}
  found[#found + 1] = { kind, redis.call('PTTL', KEYS[at]), owner[1] or '', owner[2] or '', members }
end
return found
