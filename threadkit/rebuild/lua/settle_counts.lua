-- Set numbers that say how many members an index has.
--
-- KEYS[1] then, for each number: the hash it stands in, the index, and the page that shows it
-- ARGV[1] 'repair' or 'check'
-- ARGV[2] field: 'reply_count' or 'comments'
--
-- Returns a list of {number of the hash, found, wanted}.

local found = {}
for at = 1, #KEYS, 3 do
  local counted = redis.call('HGET', KEYS[at], ARGV[2])
  local wanted = redis.pcall('ZCARD', KEYS[at + 1])
  -- A hash that is gone needs no number, and a number that was never written is none.
  if type(wanted) == 'number' and tonumber(counted or '0') ~= wanted and redis.call('EXISTS', KEYS[at]) == 1 then
    found[#found + 1] = { (at + 2) / 3, counted or '', tostring(wanted) }
    if ARGV[1] == 'repair' then
      redis.call('HSET', KEYS[at], ARGV[2], tostring(wanted))
      if redis.call('EXISTS', KEYS[at + 2]) == 1 then
        redis.call('HSET', KEYS[at + 2], 'changes_from', redis.call('HINCRBY', KEYS[at + 2], 'version', 1))
      end
    end
  end
end
return found
