-- What there is to see on a page besides its comments.
--
-- KEYS[1] page_channel     channel
-- KEYS[2] page             hash
-- KEYS[3] then the page's presence (set), presence_conns (zset), viewers (hash: worker → 'number ms'), typing (zset)
-- KEYS[7] then the same four for a page that is not this site's
-- ARGV[1] site id
-- ARGV[2] who wrote last before this has stopped, ms
-- ARGV[3] how many users to name
--
-- Returns the page's version, users who are there, and users who write something.

local lists, version = lists_of(KEYS, ARGV[1])
local present = redis.call('SRANDMEMBER', lists.presence, ARGV[3])
return { version, present, redis.call('ZRANGEBYSCORE', lists.typing, ARGV[2], '+inf', 'LIMIT', 0, ARGV[3]) }
