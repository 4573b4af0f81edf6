-- Take reports out of the list of the site that their comments do not know.
--
-- KEYS[1] reports   zset of the site
-- KEYS[2] then comment_reports of each report's comment
-- ARGV[1] 'repair' or 'check'
-- ARGV[2] then, for each report: reporter, report
--
-- Returns the numbers of those that do not belong there.

local found = {}
for number = 1, #KEYS - 1 do
  local reporter, report = ARGV[2 * number], ARGV[2 * number + 1]
  local kept = redis.pcall('HGET', KEYS[number + 1], reporter)
  if type(kept) ~= 'table' and kept ~= report and redis.call('ZSCORE', KEYS[1], report) then
    found[#found + 1] = number
    if ARGV[1] == 'repair' then redis.call('ZREM', KEYS[1], report) end
  end
end
return found
