-- Write a comment with everything that must agree with it.
--
-- KEYS[1] comment               hash
-- KEYS[2] page                  hash
-- KEYS[3] page_new              zset
-- KEYS[4] page_top              zset
-- KEYS[5] page_hot              zset
-- KEYS[6] level_new             zset: the page's roots, or the parent's replies
-- KEYS[7] level_top             zset
-- KEYS[8] level_hot             zset
-- KEYS[9] level_controversial   zset
-- KEYS[10] parent               hash; the comment itself for a root
-- KEYS[11] comments             zset of the site
-- KEYS[12] comments_of          zset of the author on this site
-- KEYS[13] modqueue             zset
-- KEYS[14] unlisted             zset of the author's comments here that only they see
-- KEYS[15] outbox               stream
-- KEYS[16] repeated             string: what the same request made before
-- KEYS[17] pages                zset of the site
-- KEYS[18] page_changes         zset
-- KEYS[19] page_channel         channel
-- KEYS[20] staff_channel        channel
-- KEYS[21] shadowbanned         set
-- ARGV[1] comment id
-- ARGV[2] the comment's fields and values, as a JSON list
-- ARGV[3] created, ms
-- ARGV[4] hot score, as text
-- ARGV[5] 'listed', 'held' or 'shadowed'
-- ARGV[6] the page's fields and values, as a JSON list
-- ARGV[7] event for the outbox, as JSON
-- ARGV[8] parent id, or ''
-- ARGV[9] page id
-- ARGV[10] how long a repeated request is known, s; '0' when it cannot be told apart
-- ARGV[11] author
-- ARGV[12] site id
--
-- Returns {'OK'}, {'REPEATED', id}, {'AHEAD', the store's time in ms}, {'LOCKED'}, {'MOVED', page id} or {'PARENT_MISSING'}.

-- The same write sent twice after a lost answer, or the same request made twice by its sender.
if redis.call('EXISTS', KEYS[1]) == 1 then return { 'REPEATED', ARGV[1] } end
local before = ARGV[10] ~= '0' and redis.call('GET', KEYS[16])
if before then return { 'REPEATED', before } end
-- What was written in the future would stand above all that comes until then.
local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if tonumber(ARGV[3]) > now_ms + 2000 then return { 'AHEAD', string.format('%.0f', now_ms) } end
local place = redis.call('HMGET', KEYS[2], 'moved_to', 'locked')
if place[1] then return { 'MOVED', place[1] } end
if place[2] == 'true' then return { 'LOCKED' } end
local depth = 0
if ARGV[8] ~= '' then
  local parent = redis.call('HMGET', KEYS[10], 'page_id', 'status', 'depth', 'is_shadowed', 'author_id', 'buried')
  -- Whoever is shadowed may answer themselves, as anybody could.
  local is_hidden = parent[4] == 'true' and not (ARGV[5] == 'shadowed' and parent[5] == ARGV[11])
  if parent[1] ~= ARGV[9] or parent[2] ~= 'approved' or is_hidden or parent[6] then return { 'PARENT_MISSING' } end
  depth = tonumber(parent[3]) + 1
end

redis.call('HSET', KEYS[1], unpack(cjson.decode(ARGV[2])))
redis.call('HSET', KEYS[1], 'depth', tostring(depth))
redis.call('ZADD', KEYS[11], ARGV[3], ARGV[1])
redis.call('ZADD', KEYS[12], ARGV[3], ARGV[1])
if ARGV[10] ~= '0' then redis.call('SET', KEYS[16], ARGV[1], 'EX', ARGV[10]) end
if ARGV[5] == 'listed' then
  -- What nobody sees leaves nothing on the page, and the first to write gives it its title, and its address if that is
  -- one of the site's.
  local page = cjson.decode(ARGV[6])
  if redis.call('HGET', KEYS[2], 'url') == '' then redis.call('HDEL', KEYS[2], 'url') end
  for i = 1, #page, 2 do redis.call('HSETNX', KEYS[2], page[i], page[i + 1]) end
  redis.call('ZADD', KEYS[3], ARGV[3], ARGV[1])
  redis.call('ZADD', KEYS[4], 0, ARGV[1])
  redis.call('ZADD', KEYS[5], ARGV[4], ARGV[1])
  redis.call('ZADD', KEYS[6], ARGV[3], ARGV[1])
  redis.call('ZADD', KEYS[7], 0, ARGV[1])
  redis.call('ZADD', KEYS[8], ARGV[4], ARGV[1])
  redis.call('ZADD', KEYS[9], 0, ARGV[1])
  if ARGV[8] ~= '' then redis.call('HINCRBY', KEYS[10], 'reply_count', 1) end
  redis.call('HINCRBY', KEYS[2], 'comments', 1)
  redis.call('HSET', KEYS[2], 'updated_ms', ARGV[3])
  announce(KEYS[2], KEYS[18], KEYS[19], ARGV[1], { type = 'new_comment', comment_id = ARGV[1] })
  redis.call('ZADD', KEYS[17], ARGV[3], ARGV[9])
  redis.call('XADD', KEYS[15], '*', 'event', ARGV[7])
else
  redis.call('ZADD', KEYS[14], ARGV[3], ARGV[1])
  if ARGV[5] == 'held' and redis.call('ZADD', KEYS[13], ARGV[3], ARGV[1]) == 1 then
    tell_staff(KEYS[20], KEYS[13], { type = 'queued', comment_id = ARGV[1] })
  end
  -- The ban was lifted after it was read, and this came too late to be shown with the rest.
  if ARGV[5] == 'shadowed' and redis.call('SISMEMBER', KEYS[21], ARGV[11]) == 0 then
    redis.call('XADD', KEYS[15], '*', 'event', cjson.encode({ type = 'unshadow', user_id = ARGV[11] }))
  end
  -- Without a version, because nothing changed for anybody but the author, whose other windows hear of it.
  local event = { type = 'new_comment', comment_id = ARGV[1], only = ARGV[11], site_id = ARGV[12] }
  redis.call(PUBLISH, KEYS[19], cjson.encode(event))
end
return { 'OK' }
