-- Count one request against every limit that applies to it, or against none when one of them is used up.
--
-- KEYS     requests   string each: how many requests somebody made in this minute
-- ARGV[1…] how many are allowed, one for each key
--
-- Returns the number of the first limit that is used up (0 when there is none), then how many requests each key has.

local used_up = 0
local counts = {}
for number, key in ipairs(KEYS) do
  counts[number] = tonumber(redis.call('GET', key) or '0')
  if used_up == 0 and counts[number] >= tonumber(ARGV[number]) then used_up = number end
end
if used_up == 0 then
  for number, key in ipairs(KEYS) do
    counts[number] = redis.call('INCR', key)
    redis.call('EXPIRE', key, 120)
  end
end
return {used_up, unpack(counts)}
