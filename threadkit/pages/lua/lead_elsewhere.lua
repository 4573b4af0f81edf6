-- From now on a page's thread is another's: whoever comes here is sent there.
--
-- KEYS[1] page     hash of the page that leads elsewhere
-- KEYS[2] target   hash
-- KEYS[3] pages    zset of the site
-- KEYS[4] page_changes   zset
-- KEYS[5] page_channel   channel
-- ARGV[1] site id
-- ARGV[2] page id
-- ARGV[3] target's page id
-- ARGV[4] address of the page, should it have no record yet
--
-- Returns 1.

redis.call('HSETNX', KEYS[1], 'site_id', ARGV[1])
redis.call('HSETNX', KEYS[1], 'url', ARGV[4])
redis.call('HSET', KEYS[1], 'moved_to', ARGV[3])
announce_all(KEYS[1], KEYS[4], KEYS[5])
redis.call('HINCRBY', KEYS[2], 'version', 1)
-- The target may have led here before: the newest word counts, and a circle would lead nowhere.
redis.call('HDEL', KEYS[2], 'moved_to')
redis.call('ZREM', KEYS[3], ARGV[2])
return 1
