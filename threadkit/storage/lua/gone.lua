-- Take away who has not been heard of for a while, and say who left with them.
--
-- lists     of `lists_of`: presence is a set of users, conns a zset of `user|worker` by last heartbeat
-- channel   the page's
-- before    ms: whoever was last heard of before this is gone
-- site      site id

local function take_away(lists, channel, user, site)
  if redis.call('SREM', lists.presence, user) == 0 then return end
  redis.call(PUBLISH, channel, cjson.encode({ type = 'user_left', user_id = user, site_id = site }))
end

local function take_away_silent(lists, channel, before, site)
  local silent = redis.call('ZRANGEBYSCORE', lists.conns, '-inf', before)
  if #silent == 0 then return end
  redis.call('ZREMRANGEBYSCORE', lists.conns, '-inf', before)
  local is_here = {}
  for _, member in ipairs(redis.call('ZRANGE', lists.conns, 0, -1)) do is_here[string.match(member, '^[^|]+')] = true end
  for _, member in ipairs(silent) do
    local user = string.match(member, '^[^|]+')
    if not is_here[user] then take_away(lists, channel, user, site) end
  end
end
