-- Take out of a voter's list of pages those on which they have no vote.
--
-- KEYS[1] voted_pages   set
-- KEYS[2] then page_votes for each page
-- ARGV[1] 'repair' or 'check'
-- ARGV[2] then the ids of the pages
--
-- Returns the ids that do not belong there.

local found = {}
for i = 2, #ARGV do
  if redis.call('EXISTS', KEYS[i]) == 0 and redis.call('SISMEMBER', KEYS[1], ARGV[i]) == 1 then
    found[#found + 1] = ARGV[i]
    if ARGV[1] == 'repair' then redis.call('SREM', KEYS[1], ARGV[i]) end
  end
end
return found
