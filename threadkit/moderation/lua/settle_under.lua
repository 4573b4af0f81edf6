-- Bring replies in line with what they hang on: hidden while that is, shown when it is again. It looks at what is, not at
-- what was decided, so it can be done at any time and any number of times; parents before their replies.
--
-- KEYS[1] page           hash
-- KEYS[2] page_new       zset: who is in it is shown, and hangs on nothing hidden
-- KEYS[3] page_top       zset
-- KEYS[4] page_hot       zset
-- KEYS[5] pinned         zset
-- KEYS[6] page_changes   zset
-- KEYS[7] page_channel   channel
-- KEYS[8] then for each reply three keys: the reply, its parent, and the parent's replies
-- ARGV[1] page id
-- ARGV[2] now, ms
-- ARGV[3] JSON list of the replies: {id, created ms, up, down, hot, parent id}
--
-- Returns how many changed, or 'CHANGED' when something was voted on or moved meanwhile.

local replies = cjson.decode(ARGV[3])
for i, one in ipairs(replies) do
  local now = redis.call('HMGET', KEYS[5 + i * 3], 'upvotes', 'downvotes', 'page_id')
  if now[1] ~= one[3] or now[2] ~= one[4] or now[3] ~= ARGV[1] then return 'CHANGED' end
  -- Where a parent is on its way to another page, KEYS[2] does not say whether it is shown.
  if redis.call('HGET', KEYS[6 + i * 3], 'page_id') ~= ARGV[1] then return 'CHANGED' end
end

local changed, change = 0, 0
for i, one in ipairs(replies) do
  local first, id = 5 + i * 3, one[1]
  local reply, parent, level = KEYS[first], KEYS[first + 1], KEYS[first + 2]
  local mark = redis.call('HGET', reply, 'buried')
  -- Whoever is not in the level is hidden for a reason of its own.
  if redis.call('ZSCORE', level, id) then
    local is_seen = redis.call('ZSCORE', KEYS[2], one[6])
    if is_seen and mark then
      redis.call('HDEL', reply, 'buried')
      change = change + redis.call('ZADD', KEYS[2], one[2], id)
      redis.call('ZADD', KEYS[3], tonumber(one[3]) - tonumber(one[4]), id)
      redis.call('ZADD', KEYS[4], one[5], id)
      give_pin_back(reply, KEYS[5], id)
      changed = changed + 1
    elseif not is_seen and not mark then
      redis.call('HSET', reply, 'buried', redis.call('HGET', parent, 'buried') or one[6])
      change = change - redis.call('ZREM', KEYS[2], id)
      for index = 3, 4 do redis.call('ZREM', KEYS[index], id) end
      keep_pin(reply, KEYS[5], id)
      changed = changed + 1
    end
  end
end
if change ~= 0 then
  redis.call('HINCRBY', KEYS[1], 'comments', string.format('%d', change))
  redis.call('HSET', KEYS[1], 'updated_ms', ARGV[2])
  announce_all(KEYS[1], KEYS[6], KEYS[7])
end
return changed
