-- Make one more link good, beside those that are.
--
-- KEYS[1] owner_link   string
-- ARGV[1] digest of the link
-- ARGV[2] now, ms
-- ARGV[3] for how long it is good, s
--
-- Returns 'OK'. The newest ten stay.

local kept = { ARGV[1] .. '@' .. string.format('%.0f', ARGV[2] + ARGV[3] * 1000) }
for link, until_ms in string.gmatch(redis.call('GET', KEYS[1]) or '', '(%x+)@(%d+)') do
  if tonumber(until_ms) > tonumber(ARGV[2]) and #kept < 10 then kept[#kept + 1] = link .. '@' .. until_ms end
end
redis.call('SET', KEYS[1], table.concat(kept, ' '), 'EX', ARGV[3])
return 'OK'
