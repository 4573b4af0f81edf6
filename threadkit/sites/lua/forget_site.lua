-- Take everything of one site out of what a user was told and what was counted for them.
--
-- KEYS[1] notifications    zset
-- KEYS[2] unread           string
-- KEYS[3] unread_by_site   hash
-- KEYS[4] applied          hash: site → newest entry; 'site entry' → one that was put off
-- ARGV[1] site id
--
-- Returns how many things there were.

local box = { all = KEYS[1], unread = KEYS[2], by_site = KEYS[3] }
local done = 0
for _, text in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if string.find(text, ARGV[1], 1, true) and cjson.decode(text).site_id == ARGV[1] then
    take_notice(box, text)
    done = done + 1
  end
end
done = done + redis.call('HDEL', KEYS[3], ARGV[1])
for _, field in ipairs(redis.call('HKEYS', KEYS[4])) do
  if string.sub(field, 1, #ARGV[1]) == ARGV[1] then done = done + redis.call('HDEL', KEYS[4], field) end
end
return done
