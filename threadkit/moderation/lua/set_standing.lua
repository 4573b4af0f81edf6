-- Ban somebody from the site, shadow-ban them, or take it back; write it down if it changed anything. What stood there
-- before is written down too, so that undoing can say it again.
--
-- KEYS[1] list         set: who is banned, or who is shadow-banned
-- KEYS[2] ban_ends     zset: user by the time their ban ends
-- KEYS[3] standings    hash: why they are on a list
-- KEYS[4] modlog       stream
-- KEYS[5] outbox       stream
-- KEYS[6] owners       set
-- KEYS[7] admins       set
-- KEYS[8] moderators   set
-- ARGV[1] user
-- ARGV[2] 'on' or 'off'
-- ARGV[3] 'ban' or 'shadowban': which list it is
-- ARGV[4] until when, ms; '' for ever
-- ARGV[5] now, ms
-- ARGV[6] who does it; '' for whoever runs the server, who may do anything
-- ARGV[7] why, as JSON: {by, reason, at_ms, state}; the id of the log entry is added, unless one is there
-- ARGV[8] log entry, as JSON; what was before and is after are added
-- ARGV[9] event for the outbox, or ''
-- ARGV[10] how it must stand now, as the log says it: 'off', or a state; '' for any
-- ARGV[11] the log entry that must have put them on the list, where that is known; '' for any
--
-- Returns {word}: SAME when it was so already, HIGHER when the user's role is as high as theirs who does it, OTHERWISE
-- when it does not stand as it must; or {'OK', id of the log entry}.

local function role(user)
  for place = 6, 8 do
    if redis.call('SISMEMBER', KEYS[place], user) == 1 then return 10 - place end
  end
  return 1
end

local user, is_on, is_ban = ARGV[1], ARGV[2] == 'on', ARGV[3] == 'ban'
if ARGV[6] ~= '' and role(user) >= role(ARGV[6]) then return { 'HIGHER' } end

local place = ARGV[3] .. ' ' .. user
local ends = is_ban and redis.call('ZSCORE', KEYS[2], user)
-- A ban that is over leaves its traces until somebody comes by; they count for nothing.
local is_over = ends and tonumber(ends) <= tonumber(ARGV[5])
local was_on = redis.call('SISMEMBER', KEYS[1], user) == 1 and not is_over
local known = redis.call('HGET', KEYS[3], place)
local mark = known and cjson.decode(known) or {}
local before = was_on and (mark.state or 'on') or 'off'
if ARGV[10] ~= '' and ARGV[10] ~= before then return { 'OTHERWISE' } end
if ARGV[11] ~= '' and was_on and type(mark.entry) == 'string' and mark.entry ~= ARGV[11] then return { 'OTHERWISE' } end
local why = cjson.decode(ARGV[7])
-- Whoever gives no other reason has nothing to correct.
local is_corrected = type(why.reason) == 'string' and why.reason ~= mark.reason
local is_as_long = (ends and tonumber(ends) or '') == (tonumber(ARGV[4]) or '')
if is_on and was_on and ARGV[11] == '' and is_as_long and not is_corrected then return { 'SAME' } end

local entry = cjson.decode(ARGV[8])
entry.before = before
if was_on and known then entry.said = { mark = known } end
entry.after = is_on and why.state or 'off'
if is_ban then redis.call('ZREM', KEYS[2], user) end
if not is_on and not was_on then
  redis.call('SREM', KEYS[1], user)
  redis.call('HDEL', KEYS[3], place)
  return { 'SAME' }
end
local at = redis.call('XADD', KEYS[4], '*', 'entry', cjson.encode(entry))
if is_on then
  if type(why.entry) ~= 'string' then why.entry = at end
  redis.call('SADD', KEYS[1], user)
  redis.call('HSET', KEYS[3], place, cjson.encode(why))
  if ARGV[4] ~= '' then redis.call('ZADD', KEYS[2], ARGV[4], user) end
else
  redis.call('SREM', KEYS[1], user)
  redis.call('HDEL', KEYS[3], place)
end
if ARGV[9] ~= '' then redis.call('XADD', KEYS[5], '*', 'event', ARGV[9]) end
return { 'OK', at }
