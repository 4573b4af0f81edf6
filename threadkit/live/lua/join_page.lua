-- A user looks at a page from one more worker.
--
-- KEYS[1] presence         set
-- KEYS[2] presence_conns   zset
-- KEYS[3] page_channel     channel
-- ARGV[1] user
-- ARGV[2] worker
-- ARGV[3] now, ms
-- ARGV[4] who was last heard of before this is gone, ms
-- ARGV[5] site id
-- ARGV[6] how many users to name
-- ARGV[7] how long nothing is kept without a heartbeat, s
--
-- Returns the users who are there, at most as many as asked for.

take_away_silent(KEYS[1], KEYS[2], KEYS[3], ARGV[4], ARGV[5])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1] .. '|' .. ARGV[2])
if redis.call('SADD', KEYS[1], ARGV[1]) == 1 then
  redis.call('PUBLISH', KEYS[3], cjson.encode({ type = 'user_joined', user_id = ARGV[1], site_id = ARGV[5] }))
end
redis.call('EXPIRE', KEYS[1], ARGV[7])
redis.call('EXPIRE', KEYS[2], ARGV[7])
return redis.call('SRANDMEMBER', KEYS[1], ARGV[6])
