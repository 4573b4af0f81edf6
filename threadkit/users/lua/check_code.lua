-- Compare a code that somebody typed with the one that was sent. Too many wrong ones void it.
--
-- KEYS[1] verification   string, JSON with code, verification_type, attempts
-- ARGV[1] what the code is for
-- ARGV[2] keyed digest of what was typed
-- ARGV[3] most wrong tries
-- ARGV[4] '1' to use the code up when it is right
--
-- Returns 'OK', 'WRONG', or 'MISSING'.

local text = redis.call('GET', KEYS[1])
if not text then return 'MISSING' end
local record = cjson.decode(text)
if record.verification_type == ARGV[1] and record.code == ARGV[2] then
  if ARGV[4] == '1' then redis.call('DEL', KEYS[1]) end
  return 'OK'
end
record.attempts = (record.attempts or 0) + 1
if record.attempts >= tonumber(ARGV[3]) then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], cjson.encode(record), 'KEEPTTL')
end
return 'WRONG'
