-- Give a page a new address, and a new title if there is one.
--
-- KEYS[1] page      hash
-- ARGV[1] address
-- ARGV[2] title, or ''
--
-- Returns 1.

redis.call('HSET', KEYS[1], 'url', ARGV[1])
if ARGV[2] ~= '' then redis.call('HSET', KEYS[1], 'title', ARGV[2]) end
redis.call('HINCRBY', KEYS[1], 'version', 1)
return 1
