-- A user looks at a page from one more worker.
--
-- KEYS[1] page_channel     channel
-- KEYS[2] page             hash
-- KEYS[3] then the page's presence (set), presence_conns (zset), viewers (hash: worker → 'number ms'), typing (zset)
-- KEYS[7] then the same four for a page that is not this site's
-- ARGV[1] user
-- ARGV[2] worker
-- ARGV[3] now, ms
-- ARGV[4] who was last heard of before this is gone, ms
-- ARGV[5] site id
-- ARGV[6] how long nothing is kept without a heartbeat, s
--
-- Returns 1.

local lists = lists_of(KEYS, ARGV[5])
take_away_silent(lists, KEYS[1], ARGV[4], ARGV[5])
redis.call('ZADD', lists.conns, ARGV[3], ARGV[1] .. '|' .. ARGV[2])
redis.call('HSETNX', lists.viewers, ARGV[2], '0 ' .. ARGV[3]) -- whoever leaves elsewhere looks for them at every worker
if redis.call('SADD', lists.presence, ARGV[1]) == 1 then
  redis.call(PUBLISH, KEYS[1], cjson.encode({ type = 'user_joined', user_id = ARGV[1], site_id = ARGV[5] }))
end
for _, name in ipairs({ 'presence', 'conns', 'viewers' }) do redis.call('EXPIRE', lists[name], ARGV[6]) end
return 1
