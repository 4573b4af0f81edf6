-- Say which site is the first: the oldest there is, or the one that the caller is going to make.
--
-- KEYS[1] sites   zset
-- ARGV[1] site id
-- ARGV[2] now, ms
--
-- Returns the id of the first site.

local oldest = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
if oldest then return oldest end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
return ARGV[1]
