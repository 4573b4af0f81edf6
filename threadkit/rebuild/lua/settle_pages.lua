-- Make sure that pages with comments are in the site's list, and pages that are gone or lead elsewhere are not.
--
-- KEYS[1] pages   zset of the site
-- KEYS[2] then, for each page: the page, and its page_new
-- ARGV[1] 'repair' or 'check'
-- ARGV[2] site id
-- ARGV[3] then the ids of the pages
--
-- Returns a list of {page id, what}. When a page was written on last is known only as far as what was written is still
-- there, so the score of a page that is in the list is left alone.

local found = {}
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'zset' and kind ~= 'none' then return found end -- no index at all, which was told before
for i = 3, #ARGV do
  local page, page_new = KEYS[2 * i - 4], KEYS[2 * i - 3]
  local record = redis.call('HMGET', page, 'site_id', 'moved_to')
  local is_listed = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if is_listed and (record[1] ~= ARGV[2] or record[2]) then
    found[#found + 1] = { ARGV[i], 'stray' }
    if ARGV[1] == 'repair' then redis.call('ZREM', KEYS[1], ARGV[i]) end
  elseif not is_listed and record[1] == ARGV[2] and not record[2] then
    local newest = redis.pcall('ZRANGE', page_new, -1, -1, 'WITHSCORES')
    if newest[2] then
      found[#found + 1] = { ARGV[i], 'missing' }
      if ARGV[1] == 'repair' then redis.call('ZADD', KEYS[1], newest[2], ARGV[i]) end
    end
  end
end
return found
