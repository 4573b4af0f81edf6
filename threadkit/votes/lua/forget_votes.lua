-- Forget how a user voted on one page. The counts stay, as votes of nobody.
--
-- KEYS[1] page_votes    hash of the voter on this page
-- KEYS[2] voted_pages   set of the voter
-- KEYS[3] then the voter's vote on each comment that the caller found in KEYS[1]
-- ARGV[1] page id
-- ARGV[2] then the ids of those comments
--
-- Returns how many votes were forgotten.

local forgotten = 0
for i = 3, #KEYS do
  forgotten = forgotten + redis.call('DEL', KEYS[i])
  redis.call('HDEL', KEYS[1], ARGV[i - 1])
end
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SREM', KEYS[2], ARGV[1]) end
return forgotten
