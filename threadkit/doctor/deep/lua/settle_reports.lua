-- Make sure that a comment's reports are in the list of the site, each in its place.
--
-- KEYS[1] comment_reports   hash: reporter → report
-- KEYS[2] reports           zset of the site
-- ARGV[1] 'repair' or 'check'
-- ARGV[2] then, for each report: reporter, report, when (ms)
--
-- Returns the reporters whose report is not; one that changed since it was read is left alone.

local found = {}
for i = 2, #ARGV, 3 do
  local score = redis.pcall('ZSCORE', KEYS[2], ARGV[i + 1])
  if type(score) == 'table' then return found end -- no list at all, which is told elsewhere
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] and tonumber(score or '-1') ~= tonumber(ARGV[i + 2]) then
    found[#found + 1] = ARGV[i]
    if ARGV[1] == 'repair' then redis.call('ZADD', KEYS[2], ARGV[i + 2], ARGV[i + 1]) end
  end
end
return found
