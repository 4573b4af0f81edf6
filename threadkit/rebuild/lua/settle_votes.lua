-- Put votes into their voters' lists by page.
--
-- KEYS[1] then, for each vote: the vote, the comment, page_votes of its voter on the comment's page, voted_pages of its voter
-- ARGV[1] 'repair' or 'check'
-- ARGV[2] JSON list, for each vote: {comment id, page id}
--
-- Returns a list of {number of the vote, kind, what, found, wanted}; a vote or comment that changed meanwhile is left alone.

local is_repair = ARGV[1] == 'repair'
local found = {}
for number, given in ipairs(cjson.decode(ARGV[2])) do
  local first = number * 4 - 3
  local vote = redis.pcall('GET', KEYS[first])
  if type(vote) == 'string' and redis.call('HGET', KEYS[first + 1], 'page_id') == given[2] then
    local listed = redis.pcall('HGET', KEYS[first + 2], given[1])
    if type(listed) ~= 'table' and listed ~= vote and listed ~= vote .. '?' then
      found[#found + 1] = { number, 'page_votes', listed and 'value' or 'missing', listed or '', vote }
      if is_repair then redis.call('HSET', KEYS[first + 2], given[1], vote) end
    end
    if redis.pcall('SISMEMBER', KEYS[first + 3], given[2]) == 0 then
      found[#found + 1] = { number, 'voted_pages', 'missing', '', '' }
      if is_repair then redis.call('SADD', KEYS[first + 3], given[2]) end
    end
  end
end
return found
