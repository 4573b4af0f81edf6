-- Mark one notification as read.
--
-- KEYS[1] notifications    zset
-- KEYS[2] unread           string
-- KEYS[3] unread_by_site   hash
-- ARGV[1] id
-- ARGV[2] its ms
-- ARGV[3] site id
--
-- Returns 1, or 0 when there is none of this site.

local box = { all = KEYS[1], unread = KEYS[2], by_site = KEYS[3] }
local before = find_notice(box, ARGV[2], ARGV[1])
if not before or cjson.decode(before).site_id ~= ARGV[3] then return 0 end
local after = string.gsub(before, '"read":false', '"read":true', 1)
if after ~= before then replace_notice(box, before, after) end
return 1
