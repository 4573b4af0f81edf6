-- Take an index entry for an owner, if it is free or held by somebody known to be dead.
--
-- KEYS[1] entry   string
-- ARGV[1] owner
-- ARGV[2] dead holder it may be taken from, or ''
--
-- Returns the holder afterwards.

local holder = redis.call('GET', KEYS[1])
if not holder or holder == ARGV[2] then
  redis.call('SET', KEYS[1], ARGV[1])
  return ARGV[1]
end
return holder
