-- Give a comment a new text, if it is still there and still the same as when it was read. One that is shown and has to
-- be hidden with its new text is a decision: moderation/lua/decide.lua.
--
-- KEYS[1] comment   hash
-- KEYS[2] page      hash
-- KEYS[3] page_changes   zset
-- KEYS[4] page_channel   channel
-- KEYS[5] outbox         stream
-- ARGV[1] updated_at the text was edited from
-- ARGV[2] fields and values to set, as a JSON list
-- ARGV[3] now, ms
-- ARGV[4] fields to remove, as a JSON list
-- ARGV[5] the new text
-- ARGV[6] page id
-- ARGV[7] comment id
-- ARGV[8] event for the outbox when it names others than before, as JSON, or ''
-- ARGV[9] status it had when it was read
--
-- Returns 'OK', 'GONE', 'LOCKED' or 'CHANGED'.

local found = redis.call('HMGET', KEYS[1], 'status', 'updated_at', 'is_shadowed', 'content', 'page_id', 'is_unposted')
if not found[1] or found[1] == 'deleted' then return 'GONE' end
if redis.call('HGET', KEYS[2], 'locked') == 'true' then return 'LOCKED' end
if found[5] ~= ARGV[6] then return 'CHANGED' end
-- The same write sent twice, after a lost answer, is fine.
if found[2] ~= ARGV[1] then return found[4] == ARGV[5] and 'OK' or 'CHANGED' end
-- Whoever decided meanwhile decided about the text before.
if found[1] ~= ARGV[9] then return 'CHANGED' end
redis.call('HSET', KEYS[1], unpack(cjson.decode(ARGV[2])))
local gone = cjson.decode(ARGV[4])
if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone)) end
if found[1] == 'approved' and found[3] ~= 'true' then
  redis.call('HSET', KEYS[2], 'updated_ms', ARGV[3])
  announce(KEYS[2], KEYS[3], KEYS[4], ARGV[7], { type = 'edit_comment', comment_id = ARGV[7] })
end
-- When it is shown for the first time, all are told whom it names then.
if ARGV[8] ~= '' and found[6] ~= 'true' then redis.call('XADD', KEYS[5], '*', 'event', ARGV[8]) end
return 'OK'
