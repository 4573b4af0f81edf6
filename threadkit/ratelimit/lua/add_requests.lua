-- Add what a worker has counted since it was here last.
--
-- KEYS     requests   string each: how many requests somebody made in this minute
-- ARGV[1…] how many to add, one for each key
--
-- Returns how many requests each key has now, other workers' among them.

local counts = {}
for number, key in ipairs(KEYS) do
  counts[number] = redis.call('INCRBY', key, ARGV[number])
  redis.call('EXPIRE', key, 120)
end
return counts
