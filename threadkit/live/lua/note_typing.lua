-- A user writes something on a page, or stops.
--
-- KEYS[1] page_channel     channel
-- KEYS[2] page             hash
-- KEYS[3] then the page's presence (set), presence_conns (zset), viewers (hash: worker → 'number ms'), typing (zset)
-- KEYS[7] then the same four for a page that is not this site's
-- ARGV[1] user
-- ARGV[2] now, ms
-- ARGV[3] who wrote last before this has stopped, ms
-- ARGV[4] 'typing' or 'stop_typing'
-- ARGV[5] the comment that is answered, or ''
-- ARGV[6] site id
-- ARGV[7] how long nothing is kept, s
--
-- Returns 1, or 0 when somebody stops who did not write.

local typing = lists_of(KEYS, ARGV[6]).typing
redis.call('ZREMRANGEBYSCORE', typing, '-inf', ARGV[3])
local event = { type = ARGV[4], user_id = ARGV[1], site_id = ARGV[6] }
if ARGV[4] == 'typing' then
  redis.call('ZADD', typing, ARGV[2], ARGV[1])
  redis.call('EXPIRE', typing, ARGV[7])
  event.reply_to = ARGV[5] ~= '' and ARGV[5] or cjson.null
elseif redis.call('ZREM', typing, ARGV[1]) == 0 then
  return 0
end
redis.call(PUBLISH, KEYS[1], cjson.encode(event))
return 1
