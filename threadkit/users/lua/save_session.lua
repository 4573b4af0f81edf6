-- Sign a user in on a device: write the session, forget dead ones, end the oldest beyond the cap.
--
-- KEYS[1] profile    hash; nobody who is gone can sign in
-- KEYS[2] sessions   set of the user's session ids
-- KEYS[3] networks   zset of the networks from which the user signed in
-- ARGV[1] session id
-- ARGV[2] lifetime, s
-- ARGV[3] most sessions a user may have
-- ARGV[4] what stands before a session id in the key of a session (same slot as KEYS)
-- ARGV[5] what stands before it in the key of a provider's session
-- ARGV[6] fields and values of the session, as a JSON list
-- ARGV[7] the provider's session as JSON, or ''
-- ARGV[8] epoch the user had when the sign-in began
-- ARGV[9] the network it comes from, as a keyed hash; '' when that is not noted
-- ARGV[10] now, ms
-- ARGV[11] most networks that are noted
-- ARGV[12] for how long, s
--
-- Returns 'OK', 'NEW_NETWORK' when others are noted but not this one, or 'NO_USER'.

if redis.call('EXISTS', KEYS[1]) == 0 then return 'NO_USER' end
-- All sessions were ended while this one was being opened.
if (redis.call('HGET', KEYS[1], 'auth_epoch') or '0') ~= ARGV[8] then return 'NO_USER' end
redis.call('HSET', ARGV[4] .. ARGV[1], unpack(cjson.decode(ARGV[6])))
redis.call('EXPIRE', ARGV[4] .. ARGV[1], ARGV[2])
if ARGV[7] ~= '' then redis.call('SET', ARGV[5] .. ARGV[1], ARGV[7], 'EX', ARGV[2]) end

local others = {}
for _, id in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  local created = redis.call('HGET', ARGV[4] .. id, 'created_at')
  if not created then
    redis.call('SREM', KEYS[2], id)
  elseif id ~= ARGV[1] then
    table.insert(others, { created = created, id = id })
  end
end
table.sort(others, function(a, b)
  if a.created ~= b.created then return a.created < b.created end
  return a.id < b.id
end)
for i = 1, #others + 1 - tonumber(ARGV[3]) do
  redis.call('SREM', KEYS[2], others[i].id)
  redis.call('DEL', ARGV[4] .. others[i].id, ARGV[5] .. others[i].id)
end
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('EXPIRE', KEYS[2], ARGV[2])

if ARGV[9] == '' then return 'OK' end
local is_new = redis.call('EXISTS', KEYS[3]) == 1 and not redis.call('ZSCORE', KEYS[3], ARGV[9])
redis.call('ZADD', KEYS[3], ARGV[10], ARGV[9])
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -tonumber(ARGV[11]) - 1)
redis.call('EXPIRE', KEYS[3], ARGV[12])
return is_new and 'NEW_NETWORK' or 'OK'
