-- Take notifications of a site away.
--
-- KEYS[1] notifications    zset
-- KEYS[2] unread           string
-- KEYS[3] unread_by_site   hash
-- ARGV[1] site id
-- ARGV[2] then id and ms of each
--
-- Returns how many there were.

local box = { all = KEYS[1], unread = KEYS[2], by_site = KEYS[3] }
local done = 0
for i = 2, #ARGV, 2 do
  local text = find_notice(box, ARGV[i + 1], ARGV[i])
  if text and cjson.decode(text).site_id == ARGV[1] then
    take_notice(box, text)
    done = done + 1
  end
end
return done
