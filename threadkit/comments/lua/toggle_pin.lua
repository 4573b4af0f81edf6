-- Pin a shown comment, or unpin it.
--
-- KEYS[1] comment    hash
-- KEYS[2] page       hash
-- KEYS[3] page_new   zset: what is shown
-- KEYS[4] pinned     zset
-- KEYS[5] page_changes   zset
-- KEYS[6] page_channel   channel
-- KEYS[7] modlog         stream
-- ARGV[1] comment id
-- ARGV[2] now, ms
-- ARGV[3] page id
-- ARGV[4] log entry, as JSON; what was done, and the comment's author, are added
-- ARGV[5] the updated_at it must still have, or ''
--
-- Returns 1 when it is pinned now, 0 when not, -1 when there is no such comment, or 'CHANGED'.

local found = redis.call('HMGET', KEYS[1], 'status', 'page_id', 'author_id', 'updated_at')
if found[1] ~= 'approved' or found[2] ~= ARGV[3] or not redis.call('ZSCORE', KEYS[3], ARGV[1]) then return -1 end
if ARGV[5] ~= '' and found[4] ~= ARGV[5] then return 'CHANGED' end
redis.call('HSET', KEYS[2], 'updated_ms', ARGV[2])
local is_pinned = redis.call('ZREM', KEYS[4], ARGV[1]) == 0
if is_pinned then redis.call('ZADD', KEYS[4], ARGV[2], ARGV[1]) end
local event = { type = 'pin_update', comment_id = ARGV[1], pinned = is_pinned, pinned_at = cjson.null }
if is_pinned then event.pinned_at = tonumber(ARGV[2]) end
announce(KEYS[2], KEYS[5], KEYS[6], ARGV[1], event)
local entry = cjson.decode(ARGV[4])
entry.seen = found[4]
entry.action, entry.user_id = is_pinned and 'pin' or 'unpin', found[3]
entry.before, entry.after = is_pinned and 'off' or 'on', is_pinned and 'on' or 'off'
redis.call('XADD', KEYS[7], '*', 'entry', cjson.encode(entry))
return is_pinned and 1 or 0
