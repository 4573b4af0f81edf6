-- Put a user into one of several lists and out of all others, or out of all; write it down if that is a change of role.
--
-- KEYS[1] modlog   stream
-- KEYS[2] first of the lists, all of one site
-- ARGV[1] user
-- ARGV[2] number of the list to be in, or '0' for none
-- ARGV[3] log entry, as JSON, the role before and after are added; or '' and nothing is written down
-- ARGV[4] JSON list of what the lists are called
--
-- Returns from how many lists the user was taken.

local names, had = cjson.decode(ARGV[4]), 0
local before, after = 'user', 'user'
for place = 2, #KEYS do
  local key, name = KEYS[place], names[place - 1]
  if before == 'user' and redis.call('SISMEMBER', key, ARGV[1]) == 1 then before = name end
  if place - 1 == tonumber(ARGV[2]) then
    redis.call('SADD', key, ARGV[1])
    after = name
  else
    had = had + redis.call('SREM', key, ARGV[1])
  end
end
if ARGV[3] ~= '' and before ~= after then
  local entry = cjson.decode(ARGV[3])
  entry.before, entry.after = before, after
  redis.call('XADD', KEYS[1], '*', 'entry', cjson.encode(entry))
end
return had
