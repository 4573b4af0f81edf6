-- Delete a comment: with replies it keeps a place, without it disappears, and empty places above it go with it.
--
-- KEYS[1] page       hash
-- KEYS[2] page_new   zset
-- KEYS[3] page_top   zset
-- KEYS[4] page_hot   zset
-- KEYS[5] pinned     zset
-- KEYS[6] modqueue   zset
-- KEYS[7] unlisted   zset of the author
-- KEYS[8] then, for the comment and each of its ancestors up to the root, five keys each: the comment, and the four
--         indexes of the level it stands in (new, top, hot, controversial)
-- ARGV[1] fields and values of a deleted comment, as a JSON list
-- ARGV[2] now, ms
-- ARGV[3] then the ids of the comment and its ancestors
--
-- Returns how many comments are shown less, or -1 when it was deleted already or is not there.

local status = redis.call('HGET', KEYS[8], 'status')
if not status or status == 'deleted' then return -1 end
redis.call('ZREM', KEYS[5], ARGV[3])
redis.call('ZREM', KEYS[6], ARGV[3])
redis.call('ZREM', KEYS[7], ARGV[3])
redis.call('HSET', KEYS[8], unpack(cjson.decode(ARGV[1])))
redis.call('HDEL', KEYS[8], 'author_avatar', 'is_shadowed', 'mentions')
if not redis.call('ZSCORE', KEYS[2], ARGV[3]) then return 0 end

local gone = 0
local nodes = #ARGV - 2
for node = 1, nodes do
  local first = 8 + (node - 1) * 5
  local id = ARGV[2 + node]
  local record = redis.call('HMGET', KEYS[first], 'status', 'reply_count')
  if record[1] ~= 'deleted' or tonumber(record[2] or '0') > 0 then break end
  if redis.call('ZREM', KEYS[2], id) == 0 then break end
  redis.call('ZREM', KEYS[3], id)
  redis.call('ZREM', KEYS[4], id)
  for level = 1, 4 do redis.call('ZREM', KEYS[first + level], id) end
  gone = gone + 1
  if node < nodes then redis.call('HINCRBY', KEYS[first + 5], 'reply_count', -1) end
end
if gone > 0 then redis.call('HINCRBY', KEYS[1], 'comments', -gone) end
redis.call('HINCRBY', KEYS[1], 'version', 1)
redis.call('HSET', KEYS[1], 'updated_ms', ARGV[2])
return gone
