-- Give a comment another status, with everything that follows: its places in the indexes, those of what hangs on it, the
-- queue, its reports, the log, and who is told.
--
-- KEYS[1] comment               hash
-- KEYS[2] page                  hash
-- KEYS[3] page_new              zset
-- KEYS[4] page_top              zset
-- KEYS[5] page_hot              zset
-- KEYS[6] level_new             zset: the page's roots, or the parent's replies
-- KEYS[7] level_top             zset
-- KEYS[8] level_hot             zset
-- KEYS[9] level_controversial   zset
-- KEYS[10] parent               hash; the comment itself for a root
-- KEYS[11] modqueue             zset
-- KEYS[12] unlisted             zset of the author on this page
-- KEYS[13] pinned               zset
-- KEYS[14] outbox               stream
-- KEYS[15] modlog               stream
-- KEYS[16] page_changes         zset
-- KEYS[17] page_channel         channel
-- KEYS[18] pages                zset of the site
-- KEYS[19] reports              zset of the site
-- KEYS[20] comment_reports      hash: reporter → report
-- KEYS[21] appeals              zset of the site
-- KEYS[22] claims               hash
-- KEYS[23] staff_channel        channel
-- KEYS[24] closed_reports       string
-- KEYS[25] then the comments that hang on it, at any depth   hash; and, for each comment above it from the parent to the
--          root, five keys: the comment, and the four indexes of the level it stands in (new, top, hot, controversial)
-- ARGV[1] comment id
-- ARGV[2] page id
-- ARGV[3] parent id, or ''
-- ARGV[4] new status: 'approved', 'rejected' or 'pending'
-- ARGV[5] statuses it may have now, separated by spaces
-- ARGV[6] now, ms
-- ARGV[7] created, ms
-- ARGV[8] JSON {up, down, hot, replies}: what the hot score was computed from, and how many replies were seen
-- ARGV[9] JSON list of fields to set and to remove: {{name, value, …}, {name, …}}
-- ARGV[10] log entry, as JSON; the status before is added. Of one whose action is 'unshadow' nothing is written down,
--          because the log tells that the ban was lifted
-- ARGV[11] events for the outbox, as a JSON list of texts
-- ARGV[12] JSON list of two events for the outbox: that a comment was posted, when it is first shown, and that it can be
--          seen again, when it is shown later
-- ARGV[13] to close its reports, what their authors are told, as JSON; or ''
-- ARGV[14] JSON list for what hangs on it: {id, created ms, up, down, hot}
-- ARGV[15] JSON list of the comments above it, as for what hangs on it; needed when its parent is only a place
-- ARGV[16] how long it can be undone, s
-- ARGV[17] the log entry that must be the newest decision about it, or ''
-- ARGV[18] what its reports must weigh together
-- ARGV[19] '1' when its author is not shadow-banned any more, so neither is it
-- ARGV[20] the updated_at it must still have, or ''
-- ARGV[21] 'true' when its author edits it, and the fields hold the new text: not where the page is locked
-- ARGV[22] the weight of reports that hides a comment
--
-- Returns {'OK', status before, id of the log entry}, or {word}: MISSING, CHANGED, LOCKED, PARENT_GONE, NO_APPEAL when it
-- would grant one that does not wait, UNFIT with the status, or LATER when something was decided after that entry.

local names = { 'status', 'page_id', 'upvotes', 'downvotes', 'is_shadowed', 'buried', 'is_unposted', 'reply_count' }
names[#names + 1] = 'is_erased'
local record = redis.call('HMGET', KEYS[1], unpack(names))
local status, is_shadowed, buried = record[1], record[5] == 'true' and ARGV[19] == '', record[6]
if not status or status == 'deleted' or record[9] == 'true' then return { 'MISSING' } end
if ARGV[21] == 'true' and redis.call('HGET', KEYS[2], 'locked') == 'true' then return { 'LOCKED' } end
if not string.find(' ' .. ARGV[5] .. ' ', ' ' .. status .. ' ', 1, true) then return { 'UNFIT', status } end
if tonumber(redis.call('HGET', KEYS[1], 'report_weight') or '0') < tonumber(ARGV[18]) then return { 'UNFIT', status } end
if ARGV[17] ~= '' and redis.call('HGET', KEYS[1], 'decided_in') ~= ARGV[17] then return { 'LATER' } end
local counts = cjson.decode(ARGV[8])
if record[2] ~= ARGV[2] or record[3] ~= counts[1] or record[4] ~= counts[2] then return { 'CHANGED' } end
if ARGV[20] ~= '' and redis.call('HGET', KEYS[1], 'updated_at') ~= ARGV[20] then return { 'CHANGED' } end
if (record[8] or '0') ~= counts[4] then return { 'CHANGED' } end
local entry = cjson.decode(ARGV[10])
local appeal_state = redis.call('HGET', KEYS[1], 'appeal_state')
if entry.action == 'appeal_granted' and appeal_state ~= 'open' then return { 'NO_APPEAL' } end
local under = cjson.decode(ARGV[14])
for i, one in ipairs(under) do
  local now = redis.call('HMGET', KEYS[24 + i], 'upvotes', 'downvotes', 'page_id')
  if now[1] ~= one[3] or now[2] ~= one[4] or now[3] ~= ARGV[2] then return { 'CHANGED' } end
end

local above = cjson.decode(ARGV[15])
for i = 1, #above do
  if redis.call('HGET', KEYS[25 + #under + (i - 1) * 5], 'page_id') ~= ARGV[2] then return { 'CHANGED' } end
end

local was_shown = redis.call('ZSCORE', KEYS[6], ARGV[1]) ~= false
local is_shown = ARGV[4] == 'approved' and not is_shadowed
-- How many of the places above it must be put back with it.
local back = 0
if was_shown and not is_shown and ARGV[3] ~= '' and #above == 0 then
  if redis.call('HGET', KEYS[10], 'status') == 'deleted' then return { 'CHANGED' } end
end
if is_shown and not was_shown and ARGV[3] ~= '' then
  local parent = redis.call('HMGET', KEYS[10], 'status', 'buried', 'reply_count', 'is_shadowed')
  buried = parent[2]
  if parent[1] == 'deleted' and tonumber(parent[3]) == 0 then
    -- The place went with the last that it held, and so perhaps did the one it stood in.
    if #above == 0 then return { 'CHANGED' } end
    buried = false
    while above[back + 1] do
      local one, first = above[back + 1], 25 + #under + back * 5
      local place = redis.call('HMGET', KEYS[first], 'status', 'buried', 'upvotes', 'downvotes', 'page_id')
      if place[3] ~= one[3] or place[4] ~= one[4] or place[5] ~= ARGV[2] then return { 'CHANGED' } end
      if redis.call('ZSCORE', KEYS[first + 1], one[1]) then
        buried = place[2]
        break
      elseif place[1] ~= 'deleted' then
        buried = one[1]
        break
      end
      back = back + 1
    end
  elseif parent[1] ~= 'deleted' and (parent[1] ~= 'approved' or parent[4] == 'true') then
    -- Out of the shadow it is like any other reply there: hidden for as long as its parent is.
    if entry.action ~= 'unshadow' and parent[4] ~= 'true' then return { 'PARENT_GONE' } end
    buried = ARGV[3]
  end
end

-- Which text it was about is written down, and what is said of it now, so that undoing can say it again.
entry.seen = redis.call('HGET', KEYS[1], 'updated_at')
entry.said = {}
for _, name in ipairs({ 'held_for', 'told_why', 'decided_by', 'decided_in' }) do
  entry.said[name] = redis.call('HGET', KEYS[1], name) or nil
end
redis.call('HSET', KEYS[1], 'status', ARGV[4])
if ARGV[19] ~= '' then redis.call('HDEL', KEYS[1], 'is_shadowed') end
local fields = cjson.decode(ARGV[9])
if #fields[1] > 0 then redis.call('HSET', KEYS[1], unpack(fields[1])) end
if #fields[2] > 0 then redis.call('HDEL', KEYS[1], unpack(fields[2])) end
local news = redis.call('HDEL', KEYS[22], ARGV[1]) == 1 and 'released'
if ARGV[4] == 'pending' and not is_shadowed then
  if redis.call('ZADD', KEYS[11], ARGV[7], ARGV[1]) == 1 then news = 'queued' end
elseif redis.call('ZREM', KEYS[11], ARGV[1]) == 1 then
  news = 'decided'
end
if ARGV[4] == 'pending' or (ARGV[4] == 'approved' and is_shadowed) then
  redis.call('ZADD', KEYS[12], ARGV[7], ARGV[1])
else
  redis.call('ZREM', KEYS[12], ARGV[1])
end

local has_pin = false
local function list(comment, id, created, up, down, hot)
  redis.call('ZADD', KEYS[3], created, id)
  redis.call('ZADD', KEYS[4], up - down, id)
  redis.call('ZADD', KEYS[5], hot, id)
  has_pin = give_pin_back(comment, KEYS[13], id) or has_pin
end

local function unlist(comment, id)
  redis.call('ZREM', KEYS[4], id)
  redis.call('ZREM', KEYS[5], id)
  keep_pin(comment, KEYS[13], id)
  return redis.call('ZREM', KEYS[3], id)
end

if is_shown ~= was_shown then
  local up, down = tonumber(counts[1]), tonumber(counts[2])
  local change = 0
  if is_shown then
    redis.call('ZADD', KEYS[6], ARGV[7], ARGV[1])
    redis.call('ZADD', KEYS[7], up - down, ARGV[1])
    redis.call('ZADD', KEYS[8], counts[3], ARGV[1])
    redis.call('ZADD', KEYS[9], math.min(up, down), ARGV[1])
    if ARGV[3] ~= '' then redis.call('HINCRBY', KEYS[10], 'reply_count', 1) end
    for i = 1, back do
      local one, first = above[i], 25 + #under + (i - 1) * 5
      local place_up, place_down = tonumber(one[3]), tonumber(one[4])
      redis.call('ZADD', KEYS[first + 1], one[2], one[1])
      redis.call('ZADD', KEYS[first + 2], place_up - place_down, one[1])
      redis.call('ZADD', KEYS[first + 3], one[5], one[1])
      redis.call('ZADD', KEYS[first + 4], math.min(place_up, place_down), one[1])
      if above[i + 1] then redis.call('HINCRBY', KEYS[first + 5], 'reply_count', 1) end
      if buried then
        redis.call('HSET', KEYS[first], 'buried', buried)
      else
        redis.call('HDEL', KEYS[first], 'buried')
        list(KEYS[first], one[1], one[2], place_up, place_down, one[5])
        change = change + 1
      end
    end
    if buried then
      -- It comes back to a place that is hidden itself: from now on it all hangs on what hides that place.
      redis.call('HSET', KEYS[1], 'buried', buried)
      for i = 1, #under do
        if redis.call('HGET', KEYS[24 + i], 'buried') == ARGV[1] then
          redis.call('HSET', KEYS[24 + i], 'buried', buried)
        end
      end
    else
      list(KEYS[1], ARGV[1], ARGV[7], up, down, counts[3])
      change = change + 1
      -- What was hidden with it comes back with it, but not what was hidden for a reason of its own.
      for i, one in ipairs(under) do
        if redis.call('HGET', KEYS[24 + i], 'buried') == ARGV[1] then
          redis.call('HDEL', KEYS[24 + i], 'buried')
          list(KEYS[24 + i], one[1], one[2], tonumber(one[3]), tonumber(one[4]), one[5])
          change = change + 1
        end
      end
    end
  else
    for level = 6, 9 do redis.call('ZREM', KEYS[level], ARGV[1]) end
    if ARGV[3] ~= '' then redis.call('HINCRBY', KEYS[10], 'reply_count', -1) end
    redis.call('HDEL', KEYS[1], 'buried')
    change = -unlist(KEYS[1], ARGV[1])
    -- A place that holds nothing any more goes, and so does the place it stood in.
    for i, one in ipairs(above) do
      local id = one[1]
      local first = 25 + #under + (i - 1) * 5
      local place = redis.call('HMGET', KEYS[first], 'status', 'reply_count')
      if place[1] ~= 'deleted' or tonumber(place[2]) > 0 or redis.call('ZREM', KEYS[first + 1], id) == 0 then break end
      for level = 2, 4 do redis.call('ZREM', KEYS[first + level], id) end
      change = change - unlist(KEYS[first], id)
      if above[i + 1] then redis.call('HINCRBY', KEYS[first + 5], 'reply_count', -1) end
    end
    for i, one in ipairs(under) do
      local under_it = KEYS[24 + i]
      if redis.call('HSETNX', under_it, 'buried', ARGV[1]) == 1 then change = change - unlist(under_it, one[1]) end
    end
  end
  if change ~= 0 then
    redis.call('HSETNX', KEYS[2], 'site_id', redis.call('HGET', KEYS[1], 'site_id'))
    redis.call('HSETNX', KEYS[2], 'url', redis.call('HGET', KEYS[1], 'page_url'))
    local title = change > 0 and redis.call('HGET', KEYS[1], 'page_title')
    if title then
      redis.call('HSETNX', KEYS[2], 'title', title)
      redis.call('HDEL', KEYS[1], 'page_title')
    end
    redis.call('HINCRBY', KEYS[2], 'comments', string.format('%d', change))
    redis.call('HSET', KEYS[2], 'updated_ms', ARGV[6])
    -- A page that leads elsewhere is in no list; its comments are on their way.
    if change > 0 and redis.call('HEXISTS', KEYS[2], 'moved_to') == 0 then
      redis.call('ZADD', KEYS[18], 'GT', ARGV[7], ARGV[2])
    end
    if #under > 0 or back > 0 or has_pin then
      announce_all(KEYS[2], KEYS[16], KEYS[17])
    elseif change > 0 then
      announce(KEYS[2], KEYS[16], KEYS[17], ARGV[1], { type = 'new_comment', comment_id = ARGV[1] })
    else
      announce(KEYS[2], KEYS[16], KEYS[17], ARGV[1], { type = 'delete_comment', comment_id = ARGV[1] })
    end
  end
  if is_shown then
    local is_first = redis.call('HDEL', KEYS[1], 'is_unposted') == 1
    redis.call('XADD', KEYS[14], '*', 'event', cjson.decode(ARGV[12])[is_first and 1 or 2])
  end
end

if ARGV[13] ~= '' then
  keep_reports(KEYS[1], KEYS[19], KEYS[20], KEYS[24], ARGV[16])
  close_all_reports(KEYS[1], KEYS[19], KEYS[20], KEYS[14], cjson.decode(ARGV[13]))
elseif string.sub(entry.action, 1, 5) == 'undo_' then
  reopen_reports(KEYS[1], KEYS[19], KEYS[20], KEYS[24], KEYS[14], ARGV[1])
end
-- Somebody who shows what reports have hidden has looked: from now on they count anew.
local weight = tonumber(redis.call('HGET', KEYS[1], 'report_weight') or '0')
if entry.action == 'undo_hide' and weight >= tonumber(ARGV[22]) then
  redis.call('HSET', KEYS[1], 'report_weight', '0')
end
-- Whatever shows a comment grants what its author asked for; taking that back opens the appeal again.
if appeal_state == 'open' and ARGV[4] == 'approved' then
  redis.call('HSET', KEYS[1], 'appeal_state', 'granted')
  redis.call('ZREM', KEYS[21], ARGV[1])
elseif appeal_state == 'granted' and (entry.action == 'undo_approve' or entry.action == 'undo_appeal_granted') then
  redis.call('HSET', KEYS[1], 'appeal_state', 'open')
  redis.call('ZADD', KEYS[21], redis.call('HGET', KEYS[1], 'appealed_ms'), ARGV[1])
end
for _, event in ipairs(cjson.decode(ARGV[11])) do redis.call('XADD', KEYS[14], '*', 'event', event) end
if news then
  tell_staff(KEYS[23], KEYS[11], { type = news, comment_id = ARGV[1], status = ARGV[4], by = entry.by })
end
if entry.action == 'unshadow' then return { 'OK', status, '' } end
entry.before, entry.after = status, ARGV[4]
local at = redis.call('XADD', KEYS[15], '*', 'entry', cjson.encode(entry))
-- What is taken back was never decided: the newest decision is again the one before.
if ARGV[17] == '' then redis.call('HSET', KEYS[1], 'decided_in', at) end
return { 'OK', status, at }
