-- A site's share of a user's notifications, newest first, and what is set aside of it.
--
-- KEYS[1] notifications    zset
-- KEYS[2] unread_by_site   hash
-- ARGV[1] site id
-- ARGV[2] how many to leave out
-- ARGV[3] how many to give
--
-- Returns {how many are unread, 1 when there are more, the notifications as JSON, those set aside as JSON}.

local site = '"site_id":"' .. ARGV[1] .. '"'
local skip, limit = tonumber(ARGV[2]), tonumber(ARGV[3])
local unread, found, aside = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0'), {}, {}
for _, text in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(0')) do
  if string.find(text, site, 1, true) then aside[#aside + 1] = text end
end
local seen, start = 0, 0
while true do
  local batch = redis.call('ZREVRANGEBYSCORE', KEYS[1], '+inf', 0, 'LIMIT', start, 100)
  for _, text in ipairs(batch) do
    if string.find(text, site, 1, true) then
      seen = seen + 1
      if seen > skip + limit then return { unread, 1, found, aside } end
      if seen > skip then found[#found + 1] = text end
    end
  end
  if #batch < 100 then return { unread, 0, found, aside } end
  start = start + 100
end
