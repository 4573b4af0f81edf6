-- Lock a page, or open it again.
--
-- KEYS[1] page           hash
-- KEYS[2] page_changes   zset
-- KEYS[3] page_channel   channel
-- ARGV[1] 'true' or 'false'
-- ARGV[2] the page's address, or '' when only a page that is there may be locked
-- ARGV[3] site id
--
-- Returns 1, or 0 when there is no such page.

local owner = redis.call('HGET', KEYS[1], 'site_id')
if not owner and ARGV[2] == '' then return 0 end
if not owner then redis.call('HSET', KEYS[1], 'site_id', ARGV[3], 'url', ARGV[2]) end
redis.call('HSET', KEYS[1], 'locked', ARGV[1])
announce(KEYS[1], KEYS[2], KEYS[3], nil, { type = 'lock_update', locked = ARGV[1] == 'true' })
return 1
