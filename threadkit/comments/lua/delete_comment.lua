-- Delete a comment: with replies it keeps a place, without it disappears, and empty places above it go with it. One that
-- is hidden together with its replies stays so.
--
-- KEYS[1] page       hash
-- KEYS[2] page_new   zset
-- KEYS[3] page_top   zset
-- KEYS[4] page_hot   zset
-- KEYS[5] pinned     zset
-- KEYS[6] modqueue   zset
-- KEYS[7] unlisted   zset of the author
-- KEYS[8] page_changes   zset
-- KEYS[9] page_channel   channel
-- KEYS[10] then, for the comment and each of its ancestors up to the root, five keys each: the comment, and the four
--         indexes of the level it stands in (new, top, hot, controversial); last of all the outbox, a stream
-- ARGV[1] fields and values of a deleted comment, as a JSON list
-- ARGV[2] now, ms
-- ARGV[3] page id
-- ARGV[4] then the ids of the comment and its ancestors
--
-- Returns how many comments are shown less, -1 when it was deleted already or is not there, -2 when its page moved.

local found = redis.call('HMGET', KEYS[10], 'status', 'page_id', 'author_id', 'mentions', 'reply_count')
if not found[1] or found[1] == 'deleted' then return -1 end
if found[2] ~= ARGV[3] then return -2 end
-- Whoever was told of it: its author of votes, those it names, and whom it answers.
local told = found[4] and cjson.decode(found[4]) or {}
told[#told + 1] = found[3]
if #ARGV > 4 then told[#told + 1] = redis.call('HGET', KEYS[10 + 5], 'author_id') or nil end
local deleted = { type = 'comment_deleted', comment_id = ARGV[4], told = told }
redis.call('XADD', KEYS[#KEYS], '*', 'event', cjson.encode(deleted))
redis.call('ZREM', KEYS[5], ARGV[4])
redis.call('ZREM', KEYS[6], ARGV[4])
redis.call('ZREM', KEYS[7], ARGV[4])
redis.call('HSET', KEYS[10], unpack(cjson.decode(ARGV[1])))
redis.call('HDEL', KEYS[10], 'author_avatar', 'is_shadowed', 'is_unposted', 'mentions', 'held_for')
local level_new = KEYS[10 + 1]
if not redis.call('ZSCORE', level_new, ARGV[4]) then
  if tonumber(found[5] or '0') > 0 then redis.call('HSET', KEYS[10], 'status', 'rejected') end
  return 0
end
local was_seen = redis.call('ZSCORE', KEYS[2], ARGV[4]) ~= false

local gone = 0
local nodes = #ARGV - 3
for node = 1, nodes do
  local first = 10 + (node - 1) * 5
  local id = ARGV[3 + node]
  local record = redis.call('HMGET', KEYS[first], 'status', 'reply_count')
  if record[1] ~= 'deleted' or tonumber(record[2] or '0') > 0 then break end
  if redis.call('ZREM', KEYS[first + 1], id) == 0 then break end
  for level = 2, 4 do redis.call('ZREM', KEYS[first + level], id) end
  gone = gone + redis.call('ZREM', KEYS[2], id)
  redis.call('ZREM', KEYS[3], id)
  redis.call('ZREM', KEYS[4], id)
  if node < nodes then redis.call('HINCRBY', KEYS[first + 5], 'reply_count', -1) end
end
if not was_seen then return 0 end
if gone > 0 then redis.call('HINCRBY', KEYS[1], 'comments', -gone) end
redis.call('HSET', KEYS[1], 'updated_ms', ARGV[2])
announce(KEYS[1], KEYS[8], KEYS[9], ARGV[4], { type = 'delete_comment', comment_id = ARGV[4] })
return gone
