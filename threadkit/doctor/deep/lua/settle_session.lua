-- Make sure that a session is in the list of its user, and that the list lives as long.
--
-- KEYS[1] session    hash
-- KEYS[2] profile    hash of the user
-- KEYS[3] sessions   set of the user's session ids
-- ARGV[1] 'repair' or 'check'
-- ARGV[2] session id
--
-- Returns 'OK', 'MISSING' from the list, 'SHORT' when the list ends first, or 'NO_USER'.

local left = redis.call('PTTL', KEYS[1])
if left == -2 then return 'OK' end -- over meanwhile
if redis.call('EXISTS', KEYS[2]) == 0 then return 'NO_USER' end
local is_listed = redis.pcall('SISMEMBER', KEYS[3], ARGV[2])
if type(is_listed) == 'table' then return 'OK' end -- no list at all, which is told elsewhere
local word = 'OK'
if is_listed == 0 then
  word = 'MISSING'
  if ARGV[1] == 'repair' then redis.call('SADD', KEYS[3], ARGV[2]) end
end
-- Both begin anew in one step, so they differ by no more than that.
local list_left = redis.call('PTTL', KEYS[3])
if list_left > -2 and left > 0 and list_left + 1000 < left then
  if word == 'OK' then word = 'SHORT' end
  if ARGV[1] == 'repair' then redis.call('PEXPIRE', KEYS[3], left) end
end
return word
