-- Say that something visible changed on a page: raise its version, note which comment it was, and tell who listens.
--
-- page      hash
-- changes   zset: comment by the version that changed it; only the newest are kept
-- channel   the page's
-- id        the comment, or nil when it is about the page itself
-- event     table with a type; its version is added, how many comments the page has, and whose page it is: others can
--           listen to its channel too
--
-- In the same step as the change, so listeners hear of every version once and in order.

local function announce(page, changes, channel, id, event)
  event.version = redis.call('HINCRBY', page, 'version', 1)
  local facts = redis.call('HMGET', page, 'site_id', 'comments')
  event.site_id, event.total = facts[1], tonumber(facts[2] or '0')
  if id then
    redis.call('ZADD', changes, event.version, id)
    redis.call('ZREMRANGEBYRANK', changes, 0, -1001)
  end
  redis.call(PUBLISH, channel, cjson.encode(event))
end

-- So much has changed that listing it makes no sense: whoever looks must look at everything.
local function announce_all(page, changes, channel)
  redis.call('DEL', changes)
  local version = redis.call('HINCRBY', page, 'version', 1)
  redis.call('HSET', page, 'changes_from', version)
  local site = redis.call('HGET', page, 'site_id')
  redis.call(PUBLISH, channel, cjson.encode({ type = 'resync', version = version, site_id = site }))
end
