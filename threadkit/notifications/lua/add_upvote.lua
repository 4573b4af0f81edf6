-- Tell a comment's author of a vote up: the first one in an hour is news, the others are counted with it in silence.
--
-- KEYS[1] profile          hash of the author
-- KEYS[2] notifications    zset
-- KEYS[3] unread           string
-- KEYS[4] unread_by_site   hash
-- KEYS[5] channel          the author's
-- KEYS[6] upvoters         hash: id and since (ms) of the hour's notification; by voter the entry that counted, and by
--                          a digest of the voter (who may leave meanwhile) the one that took it back; taken: what
--                          the notification was when everybody had taken the vote back
-- ARGV[1] id for a new notification
-- ARGV[2] now, ms
-- ARGV[3] a new notification as it is kept, JSON; empty where nobody has made one, as most votes are not the hour's first
-- ARGV[4] how many are kept
-- ARGV[5] site id
-- ARGV[6] a new notification as it is sent, JSON
-- ARGV[7] voter
-- ARGV[8] outbox entry, padded so that later ones compare as greater
-- ARGV[9] an hour, ms
--
-- Returns 'ADDED', 'COUNTED', 'KNOWN', 'SILENT' when the author threw this hour's away, 'GONE' when the author is, or
-- 'FIRST', having done nothing, when a new notification is needed.

if redis.call('EXISTS', KEYS[1]) == 0 then return 'GONE' end
local box = { all = KEYS[2], unread = KEYS[3], by_site = KEYS[4] }
local since = redis.call('HGET', KEYS[6], 'since')
if since and tonumber(ARGV[2]) - tonumber(since) >= tonumber(ARGV[9]) then since = false end
if not since and ARGV[3] == '' then return 'FIRST' end
if not since then
  redis.call('DEL', KEYS[6])
  redis.call('HSET', KEYS[6], 'id', ARGV[1], 'since', ARGV[2], ARGV[7], ARGV[8])
  redis.call('PEXPIRE', KEYS[6], ARGV[9])
  deliver(box, KEYS[5], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6])
  return 'ADDED'
end

local digest = redis.sha1hex(ARGV[7])
local known = redis.call('HMGET', KEYS[6], ARGV[7], digest)
if known[1] or (known[2] and known[2] >= ARGV[8]) then return 'KNOWN' end
redis.call('HSET', KEYS[6], ARGV[7], ARGV[8])
redis.call('HDEL', KEYS[6], digest)
local group = redis.call('HMGET', KEYS[6], 'id', 'taken')
local from = '"from_user_id":"' .. ARGV[7] .. '"'
if group[2] then
  local text = string.gsub(group[2], '"from_user_id":[^,]+', from, 1)
  redis.call('HDEL', KEYS[6], 'taken')
  put_notice(box, since, text)
  return 'COUNTED'
end
local before = find_notice(box, since, group[1])
if not before then return 'SILENT' end
local count = tonumber(string.match(before, '"count":(%d+)')) + 1
local after = string.gsub(before, '"count":%d+', '"count":' .. count, 1)
after = string.gsub(after, '"from_user_id":[^,]+', from, 1)
replace_notice(box, before, after)
return 'COUNTED'
