-- Take out of a voter's list for a page what is no vote on a comment of that page, and the page from the list of pages
-- when nothing is left.
--
-- KEYS[1] page_votes    hash
-- KEYS[2] voted_pages   set
-- KEYS[3] then, for each comment: the vote, and the comment
-- ARGV[1] 'repair' or 'check'
-- ARGV[2] page id
-- ARGV[3] then the ids of the comments
--
-- Returns the ids that do not belong there.

local found = {}
for i = 3, #ARGV do
  local vote = redis.pcall('GET', KEYS[2 * i - 3])
  local page_id = redis.pcall('HGET', KEYS[2 * i - 2], 'page_id')
  if (not vote or (type(page_id) == 'string' and page_id ~= ARGV[2])) and redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1 then
    found[#found + 1] = ARGV[i]
    if ARGV[1] == 'repair' then redis.call('HDEL', KEYS[1], ARGV[i]) end
  end
end
if ARGV[1] == 'repair' and redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SREM', KEYS[2], ARGV[2]) end
return found
