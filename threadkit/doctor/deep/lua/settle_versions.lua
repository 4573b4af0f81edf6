-- Make sure that pages are no older than the newest change that is noted on them. A list of changes that is none is
-- dropped, and whoever was away then looks at everything.
--
-- KEYS[1] then, for each page: page, page_changes
-- ARGV[1] 'repair' or 'check'
--
-- Returns a list of {number of the page, found, wanted}.

local found = {}
for at = 1, #KEYS, 2 do
  local record = redis.pcall('HMGET', KEYS[at], 'version', 'changes_from', 'site_id')
  local newest = redis.pcall('ZRANGE', KEYS[at + 1], -1, -1, 'WITHSCORES')
  if not record.err and record[3] and newest.err then
    found[#found + 1] = { (at + 1) / 2, 'no list of changes', '' }
    if ARGV[1] == 'repair' then
      redis.call('DEL', KEYS[at + 1])
      redis.call('HSET', KEYS[at], 'changes_from', redis.call('HINCRBY', KEYS[at], 'version', 1))
    end
  elseif not record.err and record[3] then
    local wanted = math.max(tonumber(newest[2] or '0'), tonumber(record[2] or '0') or 0)
    if (tonumber(record[1] or '0') or -1) < wanted then
      found[#found + 1] = { (at + 1) / 2, record[1] or '', string.format('%.0f', wanted) }
      -- Above, not at it: somebody may have been answered from the version that fell.
      if ARGV[1] == 'repair' then redis.call('HSET', KEYS[at], 'version', string.format('%.0f', wanted + 1)) end
    end
  end
end
return found
