-- Give or take a staff role, if whoever does it may: looked at in the same step, so a role taken away bites at once.
--
-- KEYS[1] owners       set
-- KEYS[2] admins       set
-- KEYS[3] moderators   set
-- KEYS[4] modlog       stream
-- ARGV[1] user
-- ARGV[2] 'grant' or 'revoke'
-- ARGV[3] number of the role's list
-- ARGV[4] who does it, or '' for the secret key, which is above all
-- ARGV[5] log entry, as JSON; the role before and after are added
--
-- Returns 'CHANGED', 'SAME' when nothing had to be, 'NOT_ALLOWED' for somebody without the right to deal with this role,
-- 'TOO_HIGH' when the user is their equal or above, 'HAS_MORE' when a grant would lower, 'LAST_OWNER' when none would be left.

local names = { 'owner', 'admin', 'moderator', 'user' }

local function place(user)
  for number = 1, 3 do
    if redis.call('SISMEMBER', KEYS[number], user) == 1 then return number end
  end
  return 4
end

local function changed(before, after)
  local entry = cjson.decode(ARGV[5])
  entry.before, entry.after = names[before], names[after]
  redis.call('XADD', KEYS[4], '*', 'entry', cjson.encode(entry))
  return 'CHANGED'
end

local list, has = tonumber(ARGV[3]), place(ARGV[1])
if ARGV[4] ~= '' then
  local actor = place(ARGV[4])
  -- Owners deal with every role, their own too; admins with what is below theirs; moderators with none.
  if actor > 2 or (actor == 2 and list <= 2) then return 'NOT_ALLOWED' end
  if ARGV[2] == 'revoke' and actor ~= 1 and has <= actor then return 'TOO_HIGH' end
end

if ARGV[2] == 'grant' then
  if has < list then return 'HAS_MORE' end
  if has == list then return 'SAME' end
  for number = 1, 3 do redis.call(number == list and 'SADD' or 'SREM', KEYS[number], ARGV[1]) end
  return changed(has, list)
end
if has ~= list then return 'SAME' end
if list == 1 and redis.call('SCARD', KEYS[1]) == 1 then return 'LAST_OWNER' end
redis.call('SREM', KEYS[list], ARGV[1])
return changed(has, 4)
