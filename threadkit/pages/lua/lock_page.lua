-- Lock a page, or open it again.
--
-- KEYS[1] page           hash
-- KEYS[2] page_changes   zset
-- KEYS[3] page_channel   channel
-- KEYS[4] modlog         stream
-- ARGV[1] 'true' or 'false'
-- ARGV[2] the page's address, or '' when only a page that is there may be locked
-- ARGV[3] site id
-- ARGV[4] log entry, as JSON; what was before is added, and nothing is written down that was so already
--
-- Returns 1, or 0 when there is no such page.

local owner = redis.call('HGET', KEYS[1], 'site_id')
if not owner and ARGV[2] == '' then return 0 end
if not owner then redis.call('HSET', KEYS[1], 'site_id', ARGV[3], 'url', ARGV[2]) end
local was = redis.call('HGET', KEYS[1], 'locked') == 'true' and 'true' or 'false'
redis.call('HSET', KEYS[1], 'locked', ARGV[1])
if was ~= ARGV[1] then
  local entry = cjson.decode(ARGV[4])
  entry.before, entry.after = was == 'true' and 'on' or 'off', ARGV[1] == 'true' and 'on' or 'off'
  redis.call('XADD', KEYS[4], '*', 'entry', cjson.encode(entry))
end
announce(KEYS[1], KEYS[2], KEYS[3], nil, { type = 'lock_update', locked = ARGV[1] == 'true' })
return 1
