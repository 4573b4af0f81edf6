-- A site's share of a user's notifications, newest first.
--
-- KEYS[1] notifications    zset
-- KEYS[2] unread_by_site   hash
-- ARGV[1] site id
-- ARGV[2] how many to leave out
-- ARGV[3] how many to give
--
-- Returns {how many are unread, 1 when there are more, then the notifications as JSON}.

local site = '"site_id":"' .. ARGV[1] .. '"'
local skip, limit = tonumber(ARGV[2]), tonumber(ARGV[3])
local found = { tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or '0'), 0 }
local seen, start = 0, 0
while true do
  local batch = redis.call('ZREVRANGE', KEYS[1], start, start + 99)
  for _, text in ipairs(batch) do
    if string.find(text, site, 1, true) then
      seen = seen + 1
      if seen > skip + limit then
        found[2] = 1
        return found
      end
      if seen > skip then found[#found + 1] = text end
    end
  end
  if #batch < 100 then return found end
  start = start + 100
end
