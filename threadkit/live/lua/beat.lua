-- A worker says who looks at a page through it, and hears how many do in all.
--
-- KEYS[1] page_channel     channel
-- KEYS[2] page             hash
-- KEYS[3] then the page's presence (set), presence_conns (zset), viewers (hash: worker → 'number ms'), typing (zset)
-- KEYS[7] then the same four for a page that is not this site's
-- ARGV[1] worker
-- ARGV[2] now, ms
-- ARGV[3] who was last heard of before this is gone, ms
-- ARGV[4] site id
-- ARGV[5] how long nothing is kept without a heartbeat, s
-- ARGV[6] how many connections this worker has; with none it goes from the list
-- ARGV[7] then the users among them
--
-- Returns how many connections look at the page, and the page's version.

local lists, version = lists_of(KEYS, ARGV[4])
for i = 7, #ARGV do
  redis.call('ZADD', lists.conns, ARGV[2], ARGV[i] .. '|' .. ARGV[1])
  if redis.call('SADD', lists.presence, ARGV[i]) == 1 then
    redis.call(PUBLISH, KEYS[1], cjson.encode({ type = 'user_joined', user_id = ARGV[i], site_id = ARGV[4] }))
  end
end
take_away_silent(lists, KEYS[1], ARGV[3], ARGV[4])

local before = tonumber(redis.call('HGET', lists.viewers, 'total') or '0')
if ARGV[6] == '0' then
  redis.call('HDEL', lists.viewers, ARGV[1])
else
  redis.call('HSET', lists.viewers, ARGV[1], ARGV[6] .. ' ' .. ARGV[2])
end
local total, workers = 0, 0
local entries = redis.call('HGETALL', lists.viewers)
for i = 1, #entries, 2 do
  if entries[i] ~= 'total' then
    local number, ms = string.match(entries[i + 1], '^(%d+) (%d+)$')
    if tonumber(ms) < tonumber(ARGV[3]) then
      redis.call('HDEL', lists.viewers, entries[i])
    else
      total, workers = total + number, workers + 1
    end
  end
end
if workers == 0 then
  redis.call('DEL', lists.viewers)
else
  redis.call('HSET', lists.viewers, 'total', tostring(total))
end
for _, name in ipairs({ 'presence', 'conns', 'viewers' }) do redis.call('EXPIRE', lists[name], ARGV[5]) end
if total ~= before then
  redis.call(PUBLISH, KEYS[1], cjson.encode({ type = 'viewers', viewers = total, site_id = ARGV[4] }))
end
return { total, version }
