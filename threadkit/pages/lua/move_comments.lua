-- Move comments from one page to another, with their places in every index. What hangs on them stays on them.
--
-- KEYS[1] page      hash
-- KEYS[2] target    hash
-- KEYS[3] then the page's indexes: page_new, page_top, page_hot, pinned, and the roots by new, top, hot, controversial
-- KEYS[11] then the target's, in the same order
-- KEYS[19] pages    zset of the site
-- KEYS[20] target's page_changes   zset
-- KEYS[21] target's page_channel   channel
-- KEYS[22] then, for each comment: the comment, and its author's unlisted on the page and on the target
-- ARGV[1] page id
-- ARGV[2] target's page id
-- ARGV[3] target's address
-- ARGV[4] then for each comment its id and its author
--
-- Returns how many were moved; those that are not on the page any more, or have another author by now, are left alone.

local moved, shown = 0, 0
local newest = 0

local function move(from, to, id)
  local score = redis.call('ZSCORE', from, id)
  if not score then return nil end
  redis.call('ZREM', from, id)
  redis.call('ZADD', to, score, id)
  return score
end

for i = 4, #ARGV, 2 do
  local id = ARGV[i]
  local comment = 22 + (i - 4) / 2 * 3
  local now = redis.call('HMGET', KEYS[comment], 'page_id', 'author_id')
  if now[1] == ARGV[1] and now[2] == ARGV[i + 1] then
    redis.call('HSET', KEYS[comment], 'page_id', ARGV[2], 'page_url', ARGV[3])
    local created = move(KEYS[3], KEYS[11], id)
    if created then
      shown = shown + 1
      newest = math.max(newest, tonumber(created))
    end
    for index = 1, 7 do move(KEYS[3 + index], KEYS[11 + index], id) end
    move(KEYS[comment + 1], KEYS[comment + 2], id)
    moved = moved + 1
  end
end
if moved == 0 then return 0 end
announce_all(KEYS[2], KEYS[20], KEYS[21])
if shown > 0 then
  redis.call('HINCRBY', KEYS[1], 'comments', -shown)
  redis.call('HINCRBY', KEYS[2], 'comments', shown)
  local before = tonumber(redis.call('HGET', KEYS[2], 'updated_ms') or '0')
  redis.call('HSET', KEYS[2], 'updated_ms', string.format('%.0f', math.max(before, newest)))
  if redis.call('HEXISTS', KEYS[2], 'moved_to') == 0 then redis.call('ZADD', KEYS[19], 'GT', newest, ARGV[2]) end
end
return moved
