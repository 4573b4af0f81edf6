-- Bring back what was set aside about a comment, because it can be seen again: read ones and votes as they were, unread
-- ones anew where there is something new to tell.
--
-- KEYS[1] profile          hash
-- KEYS[2] notifications    zset
-- KEYS[3] unread           string
-- KEYS[4] unread_by_site   hash
-- KEYS[5] channel          the user's
-- ARGV[1] comment id
-- ARGV[2] site id
-- ARGV[3] how many are kept
-- ARGV[4] the kind that is told anew, or ''; and then of that one:
-- ARGV[5] its ms
-- ARGV[6] the notification as it is kept, JSON
-- ARGV[7] the notification as it is sent, JSON
--
-- Returns how many came back.

if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local box = { all = KEYS[2], unread = KEYS[3], by_site = KEYS[4] }
local done = 0
for _, text in ipairs(redis.call('ZRANGEBYSCORE', box.all, '-inf', '(0')) do
  local notice = cjson.decode(text)
  if notice.comment_id == ARGV[1] and notice.site_id == ARGV[2] then
    local ms = string.sub(redis.call('ZSCORE', box.all, text), 2)
    take_notice(box, text)
    if notice.notification_type == ARGV[4] and not notice.read then
      deliver(box, KEYS[5], ARGV[5], ARGV[6], ARGV[3], ARGV[2], ARGV[7])
    else
      put_notice(box, ms, text)
    end
    done = done + 1
  end
end
return done
