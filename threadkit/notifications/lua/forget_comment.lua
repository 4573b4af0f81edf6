-- Take everything away that a user was told about a comment, but what moderators did with it; or set it aside, because a
-- moderator's deletion can be taken back.
--
-- KEYS[1] notifications    zset
-- KEYS[2] unread           string
-- KEYS[3] unread_by_site   hash
-- KEYS[4] upvoters         hash of the comment
-- ARGV[1] comment id
-- ARGV[2] site id
-- ARGV[3] the only kind that is meant, or ''
-- ARGV[4] '1' to set it aside
--
-- Returns how many notifications there were.

local box = { all = KEYS[1], unread = KEYS[2], by_site = KEYS[3] }
local done = 0
for _, text in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local notice = cjson.decode(text)
  local kind = notice.notification_type
  local is_meant = kind == ARGV[3] or (ARGV[3] == '' and kind ~= 'mod_action')
  if is_meant and notice.comment_id == ARGV[1] and notice.site_id == ARGV[2] then
    local ms = redis.call('ZSCORE', KEYS[1], text)
    if ARGV[4] ~= '1' then
      take_notice(box, text)
    elseif tonumber(ms) > 0 then
      set_aside(box, ms, text)
    end
    done = done + 1
  end
end
if ARGV[3] == '' and ARGV[4] ~= '1' then redis.call('DEL', KEYS[4]) end
return done
