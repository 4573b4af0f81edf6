-- Add what a worker gathered about one site on one day, once, however often it is sent.
--
-- KEYS[1] tally_mark   string: the newest batch of this worker that was added
-- KEYS[2] usage        hash of the month
-- KEYS[3] visitors     set or HyperLogLog of the month
-- KEYS[4] viewed_pages set
-- KEYS[5] key_uses     hash
-- KEYS[6] usage_on     hash of the day
-- KEYS[7] visitors_on  HyperLogLog of the day
-- KEYS[8] unwritten_views   hash
-- KEYS[9] then, for each page: the page   hash, page_views, and page_views_on
-- ARGV[1] number of this batch; a worker's next one is greater
-- ARGV[2] seconds for which the mark is kept
-- ARGV[3] seconds for which everything is kept that belongs to a day or a month
-- ARGV[4] 'PFADD' or 'SADD': how a month's visitors begin to be counted
-- ARGV[5] number of pages
-- ARGV[6] comments
-- ARGV[7] pageviews
-- ARGV[8] api_requests
-- ARGV[9] websocket_connections
-- ARGV[10] when the public key was last used, ms, or '0' when it was not since the last time
-- ARGV[11] the same of the secret key
-- ARGV[12] the same of the sso secret
-- ARGV[13] seconds for which the visitors of a day are kept
-- ARGV[14] of how many pages views are kept on which nobody wrote
-- ARGV[15] with how many visitors such a page is given up for no other
-- then one number of views for each page, then the pages, then one visitor of each, then the visitors
--
-- Of a page on which nobody wrote, one number is kept: anybody can look at any address, and many must not cost much.
--
-- Returns 1 when it was added, 0 when it had been before.

if tonumber(redis.call('GET', KEYS[1]) or '0') >= tonumber(ARGV[1]) then return 0 end
-- The mark comes first: if a step below cannot be done, nothing above it is done twice.
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])

local fields = { 'comments', 'pageviews', 'api_requests', 'websocket_connections' }
for place, field in ipairs(fields) do
  local count = ARGV[5 + place]
  if count ~= '0' then
    redis.call('HINCRBY', KEYS[2], field, count)
    redis.call('HINCRBY', KEYS[6], field, count)
  end
end
redis.call('EXPIRE', KEYS[2], ARGV[3], 'NX')

-- Workers bring their news in any order, and the newest use is the one that counts.
local function raise(key, field, value)
  if tonumber(value) > tonumber(redis.call('HGET', key, field) or '0') then redis.call('HSET', key, field, value) end
end
for place, kind in ipairs({ 'public', 'secret', 'sso' }) do raise(KEYS[5], kind, ARGV[9 + place]) end

local function note_unwritten(page_id, count, visitor)
  local known = redis.call('HGET', KEYS[8], page_id)
  if not known and redis.call('HLEN', KEYS[8]) >= tonumber(ARGV[14]) then
    local other = redis.call('HRANDFIELD', KEYS[8])
    if tonumber(string.match(redis.call('HGET', KEYS[8], other), ' (%d+)')) >= tonumber(ARGV[15]) then return end
    redis.call('HDEL', KEYS[8], other)
  end
  local views, visitors, last = string.match(known or '0 0 ', '(%d+) (%d+) (.*)')
  if visitor ~= last then visitors = visitors + 1 end
  redis.call('HSET', KEYS[8], page_id, string.format('%d %d %s', views + count, visitors, visitor))
end

local pages = tonumber(ARGV[5])
for page = 1, pages do
  local record, total, day = KEYS[6 + 3 * page], KEYS[7 + 3 * page], KEYS[8 + 3 * page]
  local count, page_id = ARGV[15 + page], ARGV[15 + pages + page]
  if redis.call('EXISTS', record) == 0 then
    note_unwritten(page_id, count, ARGV[15 + 2 * pages + page])
  else
    local before = redis.call('HGET', KEYS[8], page_id)
    if before then
      redis.call('HDEL', KEYS[8], page_id)
      redis.call('INCRBY', total, string.match(before, '%d+'))
    end
    redis.call('INCRBY', total, count)
    redis.call('SADD', KEYS[4], page_id)
    redis.call('INCRBY', day, count)
    redis.call('EXPIRE', day, ARGV[3], 'NX')
  end
end

local first = 16 + 3 * pages
if #ARGV >= first then
  -- A month goes on as it began, whatever the setting says now.
  local kind, add = redis.call('TYPE', KEYS[3]).ok, ARGV[4]
  if kind == 'set' then add = 'SADD' elseif kind == 'string' then add = 'PFADD' end
  for start = first, #ARGV, 1000 do
    redis.call(add, KEYS[3], unpack(ARGV, start, math.min(start + 999, #ARGV)))
    redis.call('PFADD', KEYS[7], unpack(ARGV, start, math.min(start + 999, #ARGV)))
  end
  redis.call('EXPIRE', KEYS[3], ARGV[3], 'NX')
  redis.call('EXPIRE', KEYS[7], ARGV[13], 'NX')
  raise(KEYS[6], 'visitors', redis.call('PFCOUNT', KEYS[7]))
end
redis.call('EXPIRE', KEYS[6], ARGV[3], 'NX')
return 1
