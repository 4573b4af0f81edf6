-- Give a claim back, if it is one's own.
--
-- KEYS[1] claims          hash: comment → `{until, ms} {user}`
-- KEYS[2] modqueue        zset
-- KEYS[3] staff_channel   channel
-- ARGV[1] comment id
-- ARGV[2] whose it is
-- ARGV[3] now, ms
--
-- Returns {'OK'}, also when there is none, or {'TAKEN', by whom, until when in ms}.

local claim = redis.call('HGET', KEYS[1], ARGV[1])
if not claim then return { 'OK' } end
local ends, who = string.match(claim, '^(%d+) (.+)$')
local is_over = tonumber(ends) <= tonumber(ARGV[3])
if who ~= ARGV[2] and not is_over then return { 'TAKEN', who, ends } end
redis.call('HDEL', KEYS[1], ARGV[1])
if not is_over then tell_staff(KEYS[3], KEYS[2], { type = 'released', comment_id = ARGV[1] }) end
return { 'OK' }
