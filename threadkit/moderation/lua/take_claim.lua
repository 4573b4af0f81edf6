-- Note that somebody looks at a comment, for a while; the same person again renews it.
--
-- KEYS[1] comment         hash
-- KEYS[2] claims          hash: comment → `{until, ms} {user}`
-- KEYS[3] modqueue        zset
-- KEYS[4] staff_channel   channel
-- ARGV[1] comment id
-- ARGV[2] site id
-- ARGV[3] who claims it
-- ARGV[4] now, ms
-- ARGV[5] until when, ms
-- ARGV[6] how long a claim lasts, s
-- ARGV[7] how many one person may have
-- ARGV[8] what the others are told of them, as JSON
--
-- Returns {'OK'}, {'MISSING'}, {'TOO_MANY'}, or {'TAKEN', by whom, until when in ms}.

local found = redis.call('HMGET', KEYS[1], 'status', 'site_id')
if not found[1] or found[1] == 'deleted' or found[2] ~= ARGV[2] then return { 'MISSING' } end
local mine = 0
local all = redis.call('HGETALL', KEYS[2])
for i = 1, #all, 2 do
  local ends, who = string.match(all[i + 1], '^(%d+) (.+)$')
  if tonumber(ends) <= tonumber(ARGV[4]) then
    redis.call('HDEL', KEYS[2], all[i])
  elseif all[i] == ARGV[1] then
    if who ~= ARGV[3] then return { 'TAKEN', who, ends } end
  elseif who == ARGV[3] then
    mine = mine + 1
  end
end
if mine >= tonumber(ARGV[7]) then return { 'TOO_MANY' } end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[5] .. ' ' .. ARGV[3])
redis.call('EXPIRE', KEYS[2], ARGV[6])
tell_staff(KEYS[4], KEYS[3], { type = 'claimed', comment_id = ARGV[1], claimed_by = cjson.decode(ARGV[8]) })
return { 'OK' }
