-- Delete a comment: with replies it keeps a place, without it disappears, and empty places above it go with it. One that
-- is hidden together with its replies stays so. What a moderator deletes is kept for a moment, so that it can be undone.
--
-- KEYS[1] page       hash
-- KEYS[2] page_new   zset
-- KEYS[3] page_top   zset
-- KEYS[4] page_hot   zset
-- KEYS[5] pinned     zset
-- KEYS[6] modqueue   zset
-- KEYS[7] unlisted   zset of the author
-- KEYS[8] page_changes      zset
-- KEYS[9] page_channel      channel
-- KEYS[10] reports          zset of the site
-- KEYS[11] comment_reports  hash: reporter → report
-- KEYS[12] appeals          zset of the site
-- KEYS[13] outbox           stream
-- KEYS[14] modlog           stream
-- KEYS[15] kept             string: what it takes to bring it back
-- KEYS[16] closed_reports   string
-- KEYS[17] claims           hash
-- KEYS[18] staff_channel    channel
-- KEYS[19] then, for the comment and each of its ancestors up to the root, five keys each: the comment, and the four
--         indexes of the level it stands in (new, top, hot, controversial)
-- ARGV[1] fields and values of a deleted comment, as a JSON list
-- ARGV[2] now, ms
-- ARGV[3] page id
-- ARGV[4] what those who reported it are told, as JSON
-- ARGV[5] log entry of a moderator, as JSON; or '', and then nothing is kept
-- ARGV[6] events for the outbox, as a JSON list of texts
-- ARGV[7] the only status it may have, or ''
-- ARGV[8] how long it can be undone, s
-- ARGV[9] the updated_at it must still have, or ''
-- ARGV[10] then the ids of the comment and its ancestors
--
-- Returns {'OK', status before, id of the log entry or ''}, {'MISSING'} when it was deleted already or is not there,
-- {'CHANGED'} when it or something above it moved or its text was changed, or {'UNFIT', status}.

local comment, id = KEYS[19], ARGV[10]
local names = { 'status', 'page_id', 'author_id', 'mentions', 'reply_count', 'updated_at', 'is_unposted' }
names[8] = 'is_erased'
local found = redis.call('HMGET', comment, unpack(names))
local before = found[1]
if not before or before == 'deleted' or found[8] == 'true' then return { 'MISSING' } end
if found[2] ~= ARGV[3] or (ARGV[9] ~= '' and found[6] ~= ARGV[9]) then return { 'CHANGED' } end
if ARGV[7] ~= '' and before ~= ARGV[7] then return { 'UNFIT', before } end

for node = 2, #ARGV - 9 do
  if redis.call('HGET', KEYS[19 + (node - 1) * 5], 'page_id') ~= ARGV[3] then return { 'CHANGED' } end
end

local fields = cjson.decode(ARGV[1])
local gone = { 'author_avatar', 'is_shadowed', 'is_unposted', 'mentions', 'held_for', 'told_why', 'decided_by' }
local more = { 'flags', 'decided_in', 'appeal', 'appealed_ms', 'appeal_state', 'pinned_ms', 'page_title' }
for _, name in ipairs(more) do gone[#gone + 1] = name end
local entry = ARGV[5] ~= '' and cjson.decode(ARGV[5])
local kept = { fields = {} }
if entry then
  local taken = { unpack(gone) }
  for i = 1, #fields, 2 do taken[#taken + 1] = fields[i] end
  local values = redis.call('HMGET', comment, unpack(taken))
  for i, name in ipairs(taken) do kept.fields[name] = values[i] or nil end
  kept.buried = redis.call('HGET', comment, 'buried') or nil
  kept.pinned = redis.call('ZSCORE', KEYS[5], id) or nil
  kept.appealed = redis.call('ZSCORE', KEYS[12], id) or nil
  keep_reports(comment, KEYS[10], KEYS[11], KEYS[16], ARGV[8])
end

-- Whoever was told of it: its author of votes, those it names, and whom it answers.
local told = found[4] and cjson.decode(found[4]) or {}
told[#told + 1] = found[3]
if #ARGV > 10 then told[#told + 1] = redis.call('HGET', KEYS[19 + 5], 'author_id') or nil end
local counted = not found[7] and found[3] or nil -- what never was shown is in nobody's total
local deleted = { type = 'comment_deleted', comment_id = id, author_id = counted, told = told, is_kept = entry ~= false }
redis.call('XADD', KEYS[13], '*', 'event', cjson.encode(deleted))
for _, event in ipairs(cjson.decode(ARGV[6])) do redis.call('XADD', KEYS[13], '*', 'event', event) end
redis.call('ZREM', KEYS[5], id)
redis.call('ZREM', KEYS[12], id)
kept.queued = redis.call('ZREM', KEYS[6], id) == 1
kept.unlisted = redis.call('ZREM', KEYS[7], id) == 1
close_all_reports(comment, KEYS[10], KEYS[11], KEYS[13], cjson.decode(ARGV[4]))
redis.call('HSET', comment, unpack(fields))
redis.call('HDEL', comment, unpack(gone))
redis.call('HDEL', KEYS[17], id)

local after = 'deleted'
local is_listed = redis.call('ZSCORE', KEYS[19 + 1], id) ~= false
local was_seen = redis.call('ZSCORE', KEYS[2], id) ~= false
if not is_listed and tonumber(found[5] or '0') > 0 then
  after = 'rejected'
  redis.call('HSET', comment, 'status', after, 'is_erased', 'true')
end

local less = 0
local nodes = is_listed and #ARGV - 9 or 0
for node = 1, nodes do
  local first = 19 + (node - 1) * 5
  local above = ARGV[9 + node]
  local record = redis.call('HMGET', KEYS[first], 'status', 'reply_count')
  if record[1] ~= 'deleted' or tonumber(record[2] or '0') > 0 then break end
  if redis.call('ZREM', KEYS[first + 1], above) == 0 then break end
  for level = 2, 4 do redis.call('ZREM', KEYS[first + level], above) end
  less = less + redis.call('ZREM', KEYS[2], above)
  redis.call('ZREM', KEYS[3], above)
  redis.call('ZREM', KEYS[4], above)
  if node < nodes then redis.call('HINCRBY', KEYS[first + 5], 'reply_count', -1) end
end
if was_seen then
  if less > 0 then redis.call('HINCRBY', KEYS[1], 'comments', -less) end
  redis.call('HSET', KEYS[1], 'updated_ms', ARGV[2])
  announce(KEYS[1], KEYS[8], KEYS[9], id, { type = 'delete_comment', comment_id = id })
end
if kept.queued then
  local event = { type = 'decided', comment_id = id, status = 'deleted', by = entry and entry.by or found[3] }
  tell_staff(KEYS[18], KEYS[6], event)
end
if not entry then
  redis.call('DEL', KEYS[15], KEYS[16])
  return { 'OK', before, '' }
end
entry.before, entry.after = before, after
kept.entry, kept.after = redis.call('XADD', KEYS[14], '*', 'entry', cjson.encode(entry)), after
redis.call('SET', KEYS[15], cjson.encode(kept), 'EX', ARGV[8])
return { 'OK', before, kept.entry }
