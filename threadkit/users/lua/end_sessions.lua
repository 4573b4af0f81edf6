-- End some or all sessions of a user, each with everything that belongs to it.
--
-- KEYS[1] sessions   set of the user's session ids
-- KEYS[2] profile    hash
-- KEYS[3] channel    of the user
-- KEYS[4] networks   zset of the networks from which the user signed in
-- ARGV[1] what stands before a session id in the key of a session (same slot as KEYS)
-- ARGV[2] what stands before it in the key of a provider's session
-- ARGV[3] the session to end, or '' for all
-- ARGV[4] a session to keep when all are ended, or ''
-- ARGV[5] '1' for those alone that were opened on the pages for staff
--
-- Returns how many were ended.

-- An id alone is no right: it must be one of this user's.
if ARGV[3] ~= '' and redis.call('SISMEMBER', KEYS[1], ARGV[3]) == 0 then return 0 end

if ARGV[3] == '' and ARGV[5] == '0' then
  if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('HINCRBY', KEYS[2], 'auth_epoch', 1) end
  -- One of them may have been a thief's.
  local kept = ARGV[4] ~= '' and redis.call('HGET', ARGV[1] .. ARGV[4], 'ip')
  for _, network in ipairs(redis.call('ZRANGE', KEYS[4], 0, -1)) do
    if network ~= kept then redis.call('ZREM', KEYS[4], network) end
  end
end
local ids = ARGV[3] ~= '' and { ARGV[3] } or redis.call('SMEMBERS', KEYS[1])
local ended = 0
for _, id in ipairs(ids) do
  if id ~= ARGV[4] and (ARGV[5] == '0' or redis.call('HGET', ARGV[1] .. id, 'is_staff') == 'true') then
    redis.call('SREM', KEYS[1], id)
    ended = ended + redis.call('DEL', ARGV[1] .. id)
    redis.call('DEL', ARGV[2] .. id)
  end
end
if ended > 0 then redis.call(PUBLISH, KEYS[3], '{"type":"session_ended"}') end
return ended
