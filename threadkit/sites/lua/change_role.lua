-- Give or take a staff role, if whoever does it may: looked at in the same step, so a role taken away bites at once.
--
-- KEYS[1] owners       set
-- KEYS[2] admins       set
-- KEYS[3] moderators   set
-- ARGV[1] user
-- ARGV[2] 'grant' or 'revoke'
-- ARGV[3] number of the role's list
-- ARGV[4] who does it, or '' for the secret key, which is above all
--
-- Returns 'CHANGED', 'SAME' when nothing had to be, 'NOT_ALLOWED' for somebody without the right to deal with this role,
-- 'TOO_HIGH' when the user is their equal or above, 'HAS_MORE' when a grant would lower, 'LAST_OWNER' when none would be left.

local function place(user)
  for number, key in ipairs(KEYS) do
    if redis.call('SISMEMBER', key, user) == 1 then return number end
  end
  return #KEYS + 1
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
  for number, key in ipairs(KEYS) do
    redis.call(number == list and 'SADD' or 'SREM', key, ARGV[1])
  end
  return 'CHANGED'
end
if has ~= list then return 'SAME' end
if list == 1 and redis.call('SCARD', KEYS[1]) == 1 then return 'LAST_OWNER' end
redis.call('SREM', KEYS[list], ARGV[1])
return 'CHANGED'
