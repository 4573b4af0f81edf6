-- Use a link up, and all others with it.
--
-- KEYS[1] owner_link   string
-- ARGV[1] digest of the link
-- ARGV[2] now, ms
--
-- Returns 1, or 0 when it is not good.

for link, until_ms in string.gmatch(redis.call('GET', KEYS[1]) or '', '(%x+)@(%d+)') do
  if link == ARGV[1] and tonumber(until_ms) > tonumber(ARGV[2]) then
    redis.call('DEL', KEYS[1])
    return 1
  end
end
return 0
