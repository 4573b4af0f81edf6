-- Compare a code that somebody typed with the one that was sent. Too many wrong ones void it. The address that asked for
-- it and all others have tries of their own, so that nobody can use up somebody else's.
--
-- KEYS[1] verification   string, JSON with code, verification_type, created_at, attempts, asked_by, others_attempts
-- ARGV[1] what the code is for
-- ARGV[2] keyed digest of what was typed
-- ARGV[3] most wrong tries
-- ARGV[4] '1' to use the code up when it is right
-- ARGV[5] the address that tries, as a keyed hash
-- ARGV[6] codes made before this are too old
--
-- Returns 'OK', 'WRONG', or 'MISSING'.

local text = redis.call('GET', KEYS[1])
if not text then return 'MISSING' end
local record = cjson.decode(text)
local is_asker = record.asked_by == ARGV[5]
local counter = is_asker and 'attempts' or 'others_attempts'
local most = tonumber(ARGV[3])
local wrong = record[counter] or 0
if wrong >= most then return 'MISSING' end
if record.verification_type == ARGV[1] and record.code == ARGV[2] and record.created_at >= ARGV[6] then
  if ARGV[4] == '1' then redis.call('DEL', KEYS[1]) end
  return 'OK'
end
record[counter] = wrong + 1
if is_asker and record[counter] >= most then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], cjson.encode(record), 'KEEPTTL')
end
return 'WRONG'
