-- Mark every notification of a site as read.
--
-- KEYS[1] notifications    zset
-- KEYS[2] unread           string
-- KEYS[3] unread_by_site   hash
-- ARGV[1] site id
--
-- Returns how many were unread.

local box = { all = KEYS[1], unread = KEYS[2], by_site = KEYS[3] }
local done = 0
for _, before in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], 0, '+inf')) do
  local notice = cjson.decode(before)
  if not notice.read and notice.site_id == ARGV[1] then
    local after = string.gsub(before, '"read":false', '"read":true', 1)
    replace_notice(box, before, after)
    done = done + 1
  end
end
return done
