-- A worker says who looks at a page through it, and hears how many do in all.
--
-- KEYS[1] presence         set
-- KEYS[2] presence_conns   zset
-- KEYS[3] page_channel     channel
-- KEYS[4] viewers          hash: worker → 'number ms'
-- ARGV[1] worker
-- ARGV[2] now, ms
-- ARGV[3] who was last heard of before this is gone, ms
-- ARGV[4] site id
-- ARGV[5] how long nothing is kept without a heartbeat, s
-- ARGV[6] how many connections this worker has; with none it goes from the list
-- ARGV[7] then the users among them
--
-- Returns how many connections look at the page.

for i = 7, #ARGV do
  redis.call('ZADD', KEYS[2], ARGV[2], ARGV[i] .. '|' .. ARGV[1])
  if redis.call('SADD', KEYS[1], ARGV[i]) == 1 then
    redis.call('PUBLISH', KEYS[3], cjson.encode({ type = 'user_joined', user_id = ARGV[i], site_id = ARGV[4] }))
  end
end
take_away_silent(KEYS[1], KEYS[2], KEYS[3], ARGV[3], ARGV[4])

local before = tonumber(redis.call('HGET', KEYS[4], 'total') or '0')
if ARGV[6] == '0' then
  redis.call('HDEL', KEYS[4], ARGV[1])
else
  redis.call('HSET', KEYS[4], ARGV[1], ARGV[6] .. ' ' .. ARGV[2])
end
local total = 0
local entries = redis.call('HGETALL', KEYS[4])
for i = 1, #entries, 2 do
  if entries[i] ~= 'total' then
    local number, ms = string.match(entries[i + 1], '^(%d+) (%d+)$')
    if tonumber(ms) < tonumber(ARGV[3]) then redis.call('HDEL', KEYS[4], entries[i]) else total = total + number end
  end
end
if total == 0 then
  redis.call('DEL', KEYS[4])
else
  redis.call('HSET', KEYS[4], 'total', tostring(total))
  redis.call('EXPIRE', KEYS[4], ARGV[5])
end
redis.call('EXPIRE', KEYS[1], ARGV[5])
redis.call('EXPIRE', KEYS[2], ARGV[5])
if total ~= before then
  redis.call('PUBLISH', KEYS[3], cjson.encode({ type = 'viewers', viewers = total, site_id = ARGV[4] }))
end
return total
