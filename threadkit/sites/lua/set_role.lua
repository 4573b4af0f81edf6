-- Put a user into one of several lists and out of all others, or out of all.
--
-- KEYS[1] first of the lists, all of one site
-- ARGV[1] user
-- ARGV[2] number of the list to be in, or '0' for none
--
-- Returns from how many lists the user was taken.

local had = 0
for number, key in ipairs(KEYS) do
  if number == tonumber(ARGV[2]) then
    redis.call('SADD', key, ARGV[1])
  else
    had = had + redis.call('SREM', key, ARGV[1])
  end
end
return had
