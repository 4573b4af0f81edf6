-- A pin is kept with its comment while that is hidden, and comes back with it.
--
-- comment   hash
-- pinned    zset of the page
-- id        of the comment

local function keep_pin(comment, pinned, id)
  local ms = redis.call('ZSCORE', pinned, id)
  if not ms then return end
  redis.call('ZREM', pinned, id)
  redis.call('HSET', comment, 'pinned_ms', ms)
end

-- Says whether there was one.
local function give_pin_back(comment, pinned, id)
  local ms = redis.call('HGET', comment, 'pinned_ms')
  if not ms then return false end
  redis.call('HDEL', comment, 'pinned_ms')
  redis.call('ZADD', pinned, ms, id)
  return true
end
