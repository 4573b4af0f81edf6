-- Take away who has not been heard of for a while, and say who left with them.
--
-- presence   set of users
-- conns      zset: `user|worker` by last heartbeat
-- channel    the page's
-- before     ms: whoever was last heard of before this is gone
-- site       site id

local function is_somewhere(conns, user)
  for _, member in ipairs(redis.call('ZRANGE', conns, 0, -1)) do
    if string.sub(member, 1, #user + 1) == user .. '|' then return true end
  end
  return false
end

local function take_away(presence, conns, channel, user, site)
  if is_somewhere(conns, user) or redis.call('SREM', presence, user) == 0 then return end
  redis.call('PUBLISH', channel, cjson.encode({ type = 'user_left', user_id = user, site_id = site }))
end

local function take_away_silent(presence, conns, channel, before, site)
  local silent = redis.call('ZRANGEBYSCORE', conns, '-inf', before)
  for _, member in ipairs(silent) do redis.call('ZREM', conns, member) end
  for _, member in ipairs(silent) do
    take_away(presence, conns, channel, string.match(member, '^[^|]+'), site)
  end
end
