-- Leave a comment as it is, though its author asked for another look; write it down and tell the author.
--
-- KEYS[1] comment   hash
-- KEYS[2] appeals   zset of the site
-- KEYS[3] modlog    stream
-- KEYS[4] outbox    stream
-- ARGV[1] comment id
-- ARGV[2] who declines
-- ARGV[3] log entry, as JSON; what was said of the comment before is added
-- ARGV[4] event for the outbox, as JSON
-- ARGV[5] the updated_at it must still have
--
-- Returns {'OK', id of the log entry}, or {word}: MISSING, NO_APPEAL, CHANGED.

local found = redis.call('HMGET', KEYS[1], 'status', 'appeal_state', 'updated_at')
if not found[1] or found[1] == 'deleted' then return { 'MISSING' } end
if found[2] ~= 'open' then return { 'NO_APPEAL' } end
if found[3] ~= ARGV[5] then return { 'CHANGED' } end
local entry, before = cjson.decode(ARGV[3]), redis.call('HMGET', KEYS[1], 'decided_by', 'decided_in')
entry.seen = found[3]
entry.said = { decided_by = before[1] or nil, decided_in = before[2] or nil }
local at = redis.call('XADD', KEYS[3], '*', 'entry', cjson.encode(entry))
redis.call('HSET', KEYS[1], 'appeal_state', 'declined', 'decided_by', ARGV[2], 'decided_in', at)
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('XADD', KEYS[4], '*', 'event', ARGV[4])
return { 'OK', at }
