-- Make sure that a key has its type, and stays. What is derived and has the wrong type is dropped, to be made anew.
--
-- KEYS[1] key
-- ARGV[1] 'repair' or 'check'
-- ARGV[2] type it must have
-- ARGV[3] 'derived', or 'record': that is never dropped
--
-- Returns {} or {what, found}; 'type', 'damaged' or 'lifetime'.

local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'none' then return {} end
if kind ~= ARGV[2] then
  if ARGV[3] == 'record' then return { 'damaged', kind } end
  if ARGV[1] == 'repair' then redis.call('DEL', KEYS[1]) end
  return { 'type', kind }
end
if redis.call('PTTL', KEYS[1]) < 0 then return {} end
if ARGV[1] == 'repair' then redis.call('PERSIST', KEYS[1]) end
return { 'lifetime', '' }
