-- Move one voter's votes on some comments from one page's list to another's. The vote itself says how it is now.
--
-- KEYS[1] page_votes          hash of the voter on the page
-- KEYS[2] target_page_votes   hash of the voter on the target
-- KEYS[3] voted_pages         set of the voter
-- KEYS[4] then the voter's vote on each comment
-- ARGV[1] page id
-- ARGV[2] target's page id
-- ARGV[3] then the ids of the comments
--
-- Returns how many votes the target's list has got.

local moved = 0
for i = 3, #ARGV do
  local vote, listed = redis.call('GET', KEYS[i + 1]), redis.call('HGET', KEYS[1], ARGV[i])
  redis.call('HDEL', KEYS[1], ARGV[i])
  if vote then
    redis.call('HSET', KEYS[2], ARGV[i], listed == vote .. '?' and listed or vote)
    moved = moved + 1
  end
end
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SREM', KEYS[3], ARGV[1]) end
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('SADD', KEYS[3], ARGV[2]) end
return moved
