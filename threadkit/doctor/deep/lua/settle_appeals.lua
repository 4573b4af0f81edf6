-- Make sure that comments are in the list of appeals exactly while theirs is open.
--
-- KEYS[1] appeals   zset of the site
-- KEYS[2] then the comments
-- ARGV[1] 'repair' or 'check'
-- ARGV[2] then the comments' ids
--
-- Returns a list of {number of the comment, what, found, wanted}.

local found = {}
for number = 1, #KEYS - 1 do
  local id = ARGV[number + 1]
  local score = redis.pcall('ZSCORE', KEYS[1], id)
  local record = redis.pcall('HMGET', KEYS[number + 1], 'appeal_state', 'appealed_ms')
  if type(score) ~= 'table' and not record.err then
    local wanted = record[1] == 'open' and record[2] or false
    if wanted and tonumber(score or '-1') ~= tonumber(wanted) then
      found[#found + 1] = { number, score and 'score' or 'missing', score or '', wanted }
      if ARGV[1] == 'repair' then redis.call('ZADD', KEYS[1], wanted, id) end
    elseif score and not wanted then
      found[#found + 1] = { number, 'stray', score, '' }
      if ARGV[1] == 'repair' then redis.call('ZREM', KEYS[1], id) end
    end
  end
end
return found
