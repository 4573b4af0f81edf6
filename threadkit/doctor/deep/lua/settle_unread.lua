-- Count a user's unread notifications once more.
--
-- KEYS[1] notifications    zset
-- KEYS[2] unread           string
-- KEYS[3] unread_by_site   hash
-- ARGV[1] 'repair' or 'check'
-- ARGV[2] user id
-- ARGV[3] how many notifications are kept
--
-- Returns a list of {kind, subject, found, wanted}; wanted is '' where nothing can be done.

local is_repair = ARGV[1] == 'repair'
local found = {}
-- Below zero stands what is set aside, which counts for nothing.
local texts = redis.pcall('ZRANGEBYSCORE', KEYS[1], 0, '+inf')
if texts.err then return found end -- no list at all, which is told elsewhere
local all, by_site = 0, {}
for _, text in ipairs(texts) do
  local is_read, notice = pcall(cjson.decode, text)
  if not is_read or type(notice) ~= 'table' or not notice.site_id then
    found[#found + 1] = { 'notifications', 'user ' .. ARGV[2], 'a notification cannot be read', '' }
  elseif not notice.read then
    all = all + 1
    by_site[notice.site_id] = (by_site[notice.site_id] or 0) + 1
  end
end
if #found > 0 then return found end
if #texts > tonumber(ARGV[3]) then
  found[#found + 1] = { 'notifications', 'user ' .. ARGV[2], #texts .. ' are kept', '' }
end

local counted = redis.pcall('GET', KEYS[2])
if type(counted) ~= 'table' and (tonumber(counted or '0') ~= all or (counted and all == 0)) then
  found[#found + 1] = { 'unread', 'user ' .. ARGV[2], counted or '0', tostring(all) }
  if is_repair then
    redis.call('DEL', KEYS[2])
    if all > 0 then redis.call('SET', KEYS[2], all) end
  end
end
local sites = redis.pcall('HGETALL', KEYS[3])
if sites.err then return found end
local told = {}
for i = 1, #sites, 2 do
  told[sites[i]] = true
  local wanted = by_site[sites[i]] or 0
  if tonumber(sites[i + 1]) ~= wanted or wanted == 0 then
    found[#found + 1] = { 'unread_by_site', 'user ' .. ARGV[2] .. ' on site ' .. sites[i], sites[i + 1], tostring(wanted) }
    if is_repair then
      if wanted > 0 then redis.call('HSET', KEYS[3], sites[i], wanted) else redis.call('HDEL', KEYS[3], sites[i]) end
    end
  end
end
for site, wanted in pairs(by_site) do
  if not told[site] then
    found[#found + 1] = { 'unread_by_site', 'user ' .. ARGV[2] .. ' on site ' .. site, '0', tostring(wanted) }
    if is_repair then redis.call('HSET', KEYS[3], site, wanted) end
  end
end
return found
