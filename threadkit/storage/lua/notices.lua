-- A user's notifications and how many of them are unread: both change together, and only through these.
--
-- box   table of keys: all (zset of JSON), unread (string), by_site (hash)
-- ms    a notification's time, which is its score and stands in its id
--
-- A member is the JSON that was written first, with the id in front, and is changed as text: so its place among others
-- of the same millisecond stays. Within a JSON text every quote is escaped, so `"read":false` can only be the field.
--
-- What is about something hidden is set aside: it stands at minus its time, is neither listed nor counted, and can come
-- back as it was.

local MOST_ASIDE = 50

local function count_unread(box, site, change)
  if redis.call('INCRBY', box.unread, change) <= 0 then redis.call('DEL', box.unread) end
  if redis.call('HINCRBY', box.by_site, site, change) <= 0 then redis.call('HDEL', box.by_site, site) end
end

local function find_notice(box, ms, id)
  for _, text in ipairs(redis.call('ZRANGEBYSCORE', box.all, ms, ms)) do
    if cjson.decode(text).id == id then return text end
  end
  return nil
end

local function put_notice(box, ms, text)
  local notice = cjson.decode(text)
  local is_new = redis.call('ZADD', box.all, ms, text) == 1
  if is_new and tonumber(ms) > 0 and not notice.read then count_unread(box, notice.site_id, 1) end
end

local function take_notice(box, text)
  local ms = redis.call('ZSCORE', box.all, text)
  if not ms then return end
  redis.call('ZREM', box.all, text)
  local notice = cjson.decode(text)
  if tonumber(ms) > 0 and not notice.read then count_unread(box, notice.site_id, -1) end
end

local function replace_notice(box, before, after)
  local ms = redis.call('ZSCORE', box.all, before)
  take_notice(box, before)
  put_notice(box, ms, after)
end

-- For the new ones the oldest go.
local function set_aside(box, ms, text)
  take_notice(box, text)
  put_notice(box, '-' .. ms, text)
  local surplus = redis.call('ZCOUNT', box.all, '-inf', '(0') - MOST_ASIDE
  if surplus > 0 then
    for _, old in ipairs(redis.call('ZREVRANGEBYSCORE', box.all, '(0', '-inf', 'LIMIT', 0, surplus)) do
      take_notice(box, old)
    end
  end
end

-- Put a new one in, let the oldest go for it, and tell the user's sockets. False when it is itself the oldest.
local function deliver(box, channel, ms, text, most, site, sent)
  put_notice(box, ms, text)
  local surplus = redis.call('ZCOUNT', box.all, 0, '+inf') - tonumber(most)
  if surplus > 0 then
    for _, old in ipairs(redis.call('ZRANGEBYSCORE', box.all, 0, '+inf', 'LIMIT', 0, surplus)) do
      take_notice(box, old)
    end
  end
  if not redis.call('ZSCORE', box.all, text) then return false end
  local unread = redis.call('HGET', box.by_site, site) or '0'
  local front = '{"type":"notification","site_id":"' .. site .. '","unread":' .. unread .. ',"notification":'
  redis.call(PUBLISH, channel, front .. sent .. '}')
  return true
end
