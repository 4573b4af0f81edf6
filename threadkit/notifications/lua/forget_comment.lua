-- Take everything away that a user was told about a comment, but what moderators did with it.
--
-- KEYS[1] notifications    zset
-- KEYS[2] unread           string
-- KEYS[3] unread_by_site   hash
-- KEYS[4] upvoters         hash of the comment
-- ARGV[1] comment id
-- ARGV[2] site id
--
-- Returns how many notifications there were.

local box = { all = KEYS[1], unread = KEYS[2], by_site = KEYS[3] }
local done = 0
for _, text in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local notice = cjson.decode(text)
  local is_about = notice.comment_id == ARGV[1] and notice.site_id == ARGV[2]
  if is_about and notice.notification_type ~= 'mod_action' then
    take_notice(box, text)
    done = done + 1
  end
end
redis.call('DEL', KEYS[4])
return done
