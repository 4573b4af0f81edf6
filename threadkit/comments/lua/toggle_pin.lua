-- Pin a shown comment, or unpin it.
--
-- KEYS[1] comment    hash
-- KEYS[2] page       hash
-- KEYS[3] page_new   zset: what is shown
-- KEYS[4] pinned     zset
-- ARGV[1] comment id
-- ARGV[2] now, ms
--
-- Returns 1 when it is pinned now, 0 when not, -1 when there is no such comment.

if redis.call('HGET', KEYS[1], 'status') ~= 'approved' or not redis.call('ZSCORE', KEYS[3], ARGV[1]) then return -1 end
redis.call('HINCRBY', KEYS[2], 'version', 1)
redis.call('HSET', KEYS[2], 'updated_ms', ARGV[2])
if redis.call('ZREM', KEYS[4], ARGV[1]) == 1 then return 0 end
redis.call('ZADD', KEYS[4], ARGV[2], ARGV[1])
return 1
