-- Count a vote that was taken back out of its hour's notification; without any left, the notification goes.
--
-- KEYS[1] notifications    zset of the author
-- KEYS[2] unread           string
-- KEYS[3] unread_by_site   hash
-- KEYS[4] upvoters         hash, as in add_upvote.lua
-- ARGV[1] voter
-- ARGV[2] outbox entry, padded so that later ones compare as greater
--
-- Returns 'TAKEN', 'GONE' when it was the last one, or 'UNKNOWN' when it did not count.

local box = { all = KEYS[1], unread = KEYS[2], by_site = KEYS[3] }
local known = redis.call('HGET', KEYS[4], ARGV[1])
if not known or known >= ARGV[2] then return 'UNKNOWN' end
redis.call('HDEL', KEYS[4], ARGV[1])
redis.call('HSET', KEYS[4], redis.sha1hex(ARGV[1]), ARGV[2])
local group = redis.call('HMGET', KEYS[4], 'since', 'id')
local before = find_notice(box, group[1], group[2])
if not before then return 'UNKNOWN' end

local count = tonumber(string.match(before, '"count":(%d+)')) - 1
if count < 1 then
  take_notice(box, before)
  redis.call('HSET', KEYS[4], 'taken', before)
  return 'GONE'
end
local after = string.gsub(before, '"count":%d+', '"count":' .. count, 1)
if string.find(before, '"from_user_id":"' .. ARGV[1] .. '"', 1, true) then
  local newest, name = '', nil
  local fields = redis.call('HGETALL', KEYS[4])
  for i = 1, #fields, 2 do
    -- Only a voter's field has the length of a uuid.
    if #fields[i] == 36 and fields[i + 1] > newest then newest, name = fields[i + 1], fields[i] end
  end
  after = string.gsub(after, '"from_user_id":[^,]+', '"from_user_id":' .. (name and '"' .. name .. '"' or 'null'), 1)
end
replace_notice(box, before, after)
return 'TAKEN'
