-- Set notifications aside because what they are about is hidden for now. One that was never told can be set aside too.
--
-- KEYS[1] profile          hash
-- KEYS[2] notifications    zset
-- KEYS[3] unread           string
-- KEYS[4] unread_by_site   hash
-- ARGV[1] then for each: id, ms, and the notification as it is kept, JSON, if it may not have been told; else ''
--
-- Returns how many were told before.

if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local box = { all = KEYS[2], unread = KEYS[3], by_site = KEYS[4] }
local done = 0
for i = 1, #ARGV, 3 do
  local id, ms = ARGV[i], ARGV[i + 1]
  local told = find_notice(box, ms, id)
  if told then
    set_aside(box, ms, told)
    done = done + 1
  elseif ARGV[i + 2] ~= '' and not find_notice(box, '-' .. ms, id) then
    set_aside(box, ms, ARGV[i + 2])
  end
end
return done
