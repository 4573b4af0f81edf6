-- Take a moderator's deletion back: the comment is what it was, where it was, whatever happened around it meanwhile.
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
-- KEYS[15] kept             string: what the deletion took
-- KEYS[16] closed_reports   string
-- KEYS[17] staff_channel    channel
-- KEYS[18] pages            zset of the site
-- KEYS[19] then, for the comment and each of its ancestors up to the root, five keys each: the comment, and the four
--         indexes of the level it stands in (new, top, hot, controversial)
-- ARGV[1] id of the deletion's log entry
-- ARGV[2] now, ms
-- ARGV[3] page id
-- ARGV[4] log entry, as JSON
-- ARGV[5] events for the outbox, as a JSON list of texts
-- ARGV[6] event that it is there again, for the outbox
-- ARGV[7] JSON list of the comment and its ancestors: {id, created ms, up, down, hot}
--
-- Returns {'OK', status before, id of the log entry}, {'LATE'} when nothing is kept any more, {'UNFIT', status} when
-- somebody else decided since, {'PARENT_GONE'}, or {'CHANGED'} when something moved or was voted on meanwhile.

local text = redis.call('GET', KEYS[15])
local kept = text and cjson.decode(text)
if not kept or kept.entry ~= ARGV[1] then return { 'LATE' } end
local chain = cjson.decode(ARGV[7])
local comment, id = KEYS[19], chain[1][1]
local status = redis.call('HGET', comment, 'status')
if status ~= kept.after then return { 'UNFIT', status or 'gone' } end
for i, one in ipairs(chain) do
  local now = redis.call('HMGET', KEYS[14 + i * 5], 'upvotes', 'downvotes', 'page_id')
  if now[1] ~= one[3] or now[2] ~= one[4] or now[3] ~= ARGV[3] then return { 'CHANGED' } end
end

-- How many of the comment and the places above it must be put back, and what hides the lowest place that is there.
local is_shown = kept.fields.status == 'approved' and kept.fields.is_shadowed ~= 'true'
local is_listed = redis.call('ZSCORE', KEYS[19 + 1], id) ~= false
if is_listed and not is_shown then return { 'PARENT_GONE' } end
local missing, buried = 0, false
if is_shown and not is_listed then
  missing = 1
  while chain[missing + 1] do
    local first = 19 + missing * 5
    local above = redis.call('HMGET', KEYS[first], 'status', 'buried')
    if redis.call('ZSCORE', KEYS[first + 1], chain[missing + 1][1]) then
      buried = above[2]
      break
    elseif above[1] ~= 'deleted' then
      buried = chain[missing + 1][1]
      break
    end
    missing = missing + 1
  end
  -- It was hidden with something above it that is gone by now: nobody can tell any more whether it may be seen.
  if missing > 1 and kept.buried then return { 'PARENT_GONE' } end
end

for name, value in pairs(kept.fields) do redis.call('HSET', comment, name, value) end
redis.call('HDEL', comment, 'is_erased')
if kept.queued then redis.call('ZADD', KEYS[6], chain[1][2], id) end
if kept.unlisted then redis.call('ZADD', KEYS[7], chain[1][2], id) end
if kept.appealed then redis.call('ZADD', KEYS[12], kept.appealed, id) end
local more = 0
for i = 1, missing do
  local one, first = chain[i], 19 + (i - 1) * 5
  local up, down = tonumber(one[3]), tonumber(one[4])
  redis.call('ZADD', KEYS[first + 1], one[2], one[1])
  redis.call('ZADD', KEYS[first + 2], up - down, one[1])
  redis.call('ZADD', KEYS[first + 3], one[5], one[1])
  redis.call('ZADD', KEYS[first + 4], math.min(up, down), one[1])
  if chain[i + 1] then redis.call('HINCRBY', KEYS[first + 5], 'reply_count', 1) end
  if buried then
    redis.call('HSET', KEYS[first], 'buried', buried)
  else
    redis.call('HDEL', KEYS[first], 'buried')
    redis.call('ZADD', KEYS[2], one[2], one[1])
    redis.call('ZADD', KEYS[3], up - down, one[1])
    redis.call('ZADD', KEYS[4], one[5], one[1])
    more = more + 1
  end
end
reopen_reports(comment, KEYS[10], KEYS[11], KEYS[16], KEYS[13], id)
redis.call('DEL', KEYS[15])

if more > 0 then
  redis.call('HINCRBY', KEYS[1], 'comments', more)
  if redis.call('HEXISTS', KEYS[1], 'moved_to') == 0 then
    redis.call('ZADD', KEYS[18], 'GT', chain[1][2], ARGV[3])
  end
end
if is_shown and redis.call('ZSCORE', KEYS[2], id) then
  if kept.pinned then redis.call('ZADD', KEYS[5], kept.pinned, id) end
  redis.call('HSET', KEYS[1], 'updated_ms', ARGV[2])
  if more == 1 and not kept.pinned then
    announce(KEYS[1], KEYS[8], KEYS[9], id, { type = 'new_comment', comment_id = id })
  else
    announce_all(KEYS[1], KEYS[8], KEYS[9])
  end
end
redis.call('XADD', KEYS[13], '*', 'event', ARGV[6])
for _, event in ipairs(cjson.decode(ARGV[5])) do redis.call('XADD', KEYS[13], '*', 'event', event) end
local entry = cjson.decode(ARGV[4])
entry.before, entry.after = status, kept.fields.status
if kept.queued then tell_staff(KEYS[17], KEYS[6], { type = 'queued', comment_id = id, by = entry.by }) end
return { 'OK', status, redis.call('XADD', KEYS[14], '*', 'entry', cjson.encode(entry)) }
