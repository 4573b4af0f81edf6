-- Count a vote: a new one is set, the same again is taken back, the other one is switched.
--
-- KEYS[1] comment               hash with upvotes and downvotes
-- KEYS[2] vote                  string
-- KEYS[3] page_votes            hash of the voter on this page
-- KEYS[4] voted_pages           set of the voter
-- KEYS[5] page                  hash
-- KEYS[6] page_top              zset
-- KEYS[7] level_top             zset
-- KEYS[8] level_controversial   zset
-- KEYS[9] outbox                stream
-- ARGV[1] comment id
-- ARGV[2] 'up' or 'down'
-- ARGV[3] voter
-- ARGV[4] page id
-- ARGV[5] 'true' when only votes up are allowed
-- ARGV[6] 'true' when the voter is shadowed: the vote is kept and answered, and counts for nobody else
--
-- Returns {up, down, the vote afterwards or '', created_at}, or 'MISSING', or 'UP_ONLY'.

local comment = redis.call('HMGET', KEYS[1], 'status', 'author_id', 'created_at', 'is_shadowed', 'upvotes', 'downvotes')
if comment[1] ~= 'approved' or (comment[4] == 'true' and comment[2] ~= ARGV[3]) then return 'MISSING' end
local before = redis.call('GET', KEYS[2]) or ''
if ARGV[5] == 'true' and ARGV[2] == 'down' and before ~= 'down' then return 'UP_ONLY' end

local after = ARGV[2]
if before == after then after = '' end
local up = tonumber(comment[5]) + (after == 'up' and 1 or 0) - (before == 'up' and 1 or 0)
local down = tonumber(comment[6]) + (after == 'down' and 1 or 0) - (before == 'down' and 1 or 0)
up, down = math.max(0, up), math.max(0, down)

if after == '' then
  redis.call('DEL', KEYS[2])
  redis.call('HDEL', KEYS[3], ARGV[1])
  if redis.call('EXISTS', KEYS[3]) == 0 then redis.call('SREM', KEYS[4], ARGV[4]) end
else
  redis.call('SET', KEYS[2], after)
  redis.call('HSET', KEYS[3], ARGV[1], after)
  redis.call('SADD', KEYS[4], ARGV[4])
end
if ARGV[6] == 'true' then return { up, down, after, comment[3] } end
redis.call('HSET', KEYS[1], 'upvotes', tostring(up), 'downvotes', tostring(down))
redis.call('ZADD', KEYS[6], 'XX', up - down, ARGV[1])
redis.call('ZADD', KEYS[7], 'XX', up - down, ARGV[1])
redis.call('ZADD', KEYS[8], 'XX', math.min(up, down), ARGV[1])
redis.call('HINCRBY', KEYS[5], 'version', 1)
local change = (up - down) - (tonumber(comment[5]) - tonumber(comment[6]))
if change ~= 0 and comment[2] ~= ARGV[3] then
  redis.call('XADD', KEYS[9], '*', 'event', cjson.encode({ type = 'karma', user_id = comment[2], change = change }))
end
return { up, down, after, comment[3] }
