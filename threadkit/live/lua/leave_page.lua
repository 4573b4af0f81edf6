-- A user looks at a page from one worker less.
--
-- KEYS[1] page_channel     channel
-- KEYS[2] page             hash
-- KEYS[3] then the page's presence (set), presence_conns (zset), viewers (hash: worker → 'number ms'), typing (zset)
-- KEYS[7] then the same four for a page that is not this site's
-- ARGV[1] user
-- ARGV[2] worker
-- ARGV[3] site id
--
-- Returns 1.

local lists = lists_of(KEYS, ARGV[3])
redis.call('ZREM', lists.conns, ARGV[1] .. '|' .. ARGV[2])
for _, worker in ipairs(redis.call('HKEYS', lists.viewers)) do
  if redis.call('ZSCORE', lists.conns, ARGV[1] .. '|' .. worker) then return 1 end
end
take_away(lists, KEYS[1], ARGV[1], ARGV[3])
return 1
