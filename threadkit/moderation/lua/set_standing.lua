-- Put somebody on a list of the site (blocked, shadow-banned) or take them off, and write it down.
--
-- KEYS[1] list       set
-- KEYS[2] ban_ends   zset: user by the time their ban ends
-- KEYS[3] modlog     stream
-- KEYS[4] outbox     stream
-- ARGV[1] user
-- ARGV[2] 'on' or 'off'
-- ARGV[3] until when, ms; '' for ever
-- ARGV[4] log entry, as JSON
-- ARGV[5] event for the outbox, or ''
--
-- Returns 1 when something changed.

local is_on = ARGV[2] == 'on'
local changed = redis.call(is_on and 'SADD' or 'SREM', KEYS[1], ARGV[1])
if is_on and ARGV[3] ~= '' then
  changed = 1
  redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
else
  changed = math.max(changed, redis.call('ZREM', KEYS[2], ARGV[1]))
end
if changed == 1 then
  redis.call('XADD', KEYS[3], '*', 'entry', ARGV[4])
  if ARGV[5] ~= '' then redis.call('XADD', KEYS[4], '*', 'event', ARGV[5]) end
end
return changed
