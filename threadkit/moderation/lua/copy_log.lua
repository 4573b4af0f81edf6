-- Copy the next entries of the log without somebody's id, and put the copy in the log's place when nothing is left.
--
-- KEYS[1] modlog        stream
-- KEYS[2] modlog_draft  stream: the copy, as far as it is
-- KEYS[3] modlog_lease  string: who copies
-- ARGV[1] who copies
-- ARGV[2] user id
-- ARGV[3] what stands in its place
-- ARGV[4] how many at most
-- ARGV[5] seconds after which an abandoned copy ends
--
-- Returns 'MORE', 'DONE', or 'LOST' when somebody else copies by now.

if redis.call('GET', KEYS[3]) ~= ARGV[1] then return 'LOST' end
redis.call('EXPIRE', KEYS[3], ARGV[5])

local sought = string.gsub(ARGV[2], '%-', '%%-')

local function without(text)
  if not string.find(text, ARGV[2], 1, true) then return text end
  local is_entry, entry = pcall(cjson.decode, text)
  -- What was said about somebody goes with them.
  if is_entry and type(entry) == 'table' and entry.user_id == ARGV[2] and (entry.reason or entry.said) then
    if entry.reason ~= nil then entry.reason = cjson.null end
    entry.said = nil
    text = cjson.encode(entry)
  end
  return (string.gsub(text, sought, ARGV[3]))
end

local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)
local found = redis.call('XRANGE', KEYS[1], last[1] and '(' .. last[1][1] or '-', '+', 'COUNT', ARGV[4])
for _, entry in ipairs(found) do
  local fields = entry[2]
  for place = 2, #fields, 2 do fields[place] = without(fields[place]) end
  redis.call('XADD', KEYS[2], entry[1], unpack(fields))
end
if #found == tonumber(ARGV[4]) then
  redis.call('EXPIRE', KEYS[2], ARGV[5])
  return 'MORE'
end
redis.call('PERSIST', KEYS[2])
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('RENAME', KEYS[2], KEYS[1]) end
redis.call('DEL', KEYS[3])
return 'DONE'
