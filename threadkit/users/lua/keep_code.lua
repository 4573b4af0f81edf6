-- Somebody asked for a code that is not sent: the one before stays good for as long as it was, and all else is as if there
-- were a new one.
--
-- KEYS[1] verification   string, JSON
-- ARGV[1] a code that nobody gets, as JSON, for when there is none
-- ARGV[2] lifetime, s
--
-- Returns 1.

local text = redis.call('GET', KEYS[1])
if text then
  local record = cjson.decode(text)
  record.attempts, record.others_attempts = 0, 0
  text = cjson.encode(record)
end
redis.call('SET', KEYS[1], text or ARGV[1], 'EX', ARGV[2])
return 1
