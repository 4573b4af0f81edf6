-- Take somebody who leaves out of another user's notifications. Their votes still count, as those of nobody.
--
-- KEYS[1] notifications    zset
-- KEYS[2] unread           string
-- KEYS[3] unread_by_site   hash
-- KEYS[4] then the upvoters of each comment they voted on
-- ARGV[1] who leaves
--
-- Returns how many notifications changed.

local box = { all = KEYS[1], unread = KEYS[2], by_site = KEYS[3] }
local done = 0
local from = '"from_user_id":"' .. ARGV[1] .. '"'
for _, text in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if string.find(text, from, 1, true) then
    if cjson.decode(text).notification_type == 'upvote' then
      local nobody = string.gsub(text, '"from_user_id":[^,]+', '"from_user_id":null', 1)
      replace_notice(box, text, nobody)
    else
      take_notice(box, text)
    end
    done = done + 1
  end
end
for i = 4, #KEYS do
  redis.call('HDEL', KEYS[i], ARGV[1])
  local taken = redis.call('HGET', KEYS[i], 'taken')
  if taken and string.find(taken, from, 1, true) then redis.call('HDEL', KEYS[i], 'taken') end
end
return done
