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
-- KEYS[10] page_changes         zset
-- KEYS[11] page_channel         channel
-- KEYS[12] page_hot             zset
-- KEYS[13] level_hot            zset
-- KEYS[14] shadowbanned         set
-- ARGV[1] comment id
-- ARGV[2] 'up', 'down', or 'recount': the vote stays as it is, and counts if it has not so far
-- ARGV[3] voter
-- ARGV[4] page id
-- ARGV[5] 'true' when only votes up are allowed
-- ARGV[6] 'true' when the voter is shadowed: the vote is kept and answered, and counts for nobody else; one from before
--         that is counted no longer when it is taken back or switched
--
-- ARGV[7] score of the first rank that follows
-- ARGV[8] then the hot ranks of that score, the next, and so on, as text
--
-- A vote of somebody shadowed has a question mark in the list of their votes: it was not counted.
--
-- Returns {up, down, the vote afterwards or '', the page's version that has it}, 'MISSING', 'UP_ONLY', 'CHANGED', or
-- {'FAR', score} when so many have voted meanwhile that no rank fits.

local comment =
  redis.call('HMGET', KEYS[1], 'status', 'author_id', 'created_at', 'is_shadowed', 'upvotes', 'downvotes', 'page_id', 'buried')
local is_recount = ARGV[2] == 'recount'
local is_seen = comment[1] == 'approved' and not comment[8] and (comment[4] ~= 'true' or comment[2] == ARGV[3])
if not comment[1] or not (is_seen or is_recount) then return 'MISSING' end
if comment[7] ~= ARGV[4] then return 'CHANGED' end
local before = redis.call('GET', KEYS[2]) or ''
if ARGV[5] == 'true' and ARGV[2] == 'down' and before ~= 'down' then return 'UP_ONLY' end

local after = is_recount and before or ARGV[2]
if before == after and not is_recount then after = '' end
local is_shadowed = ARGV[6] == 'true'
local counted, counts = before, is_shadowed and '' or after
if before ~= '' and redis.call('HGET', KEYS[3], ARGV[1]) == before .. '?' then counted = '' end
local up = tonumber(comment[5]) + (counts == 'up' and 1 or 0) - (counted == 'up' and 1 or 0)
local down = tonumber(comment[6]) + (counts == 'down' and 1 or 0) - (counted == 'down' and 1 or 0)
up, down = math.max(0, up), math.max(0, down)
local hot = ARGV[8 + up - down - tonumber(ARGV[7])]
if counts ~= counted and (up - down < tonumber(ARGV[7]) or not hot) then return { 'FAR', up - down } end

if after == '' then
  redis.call('DEL', KEYS[2])
  redis.call('HDEL', KEYS[3], ARGV[1])
  if redis.call('EXISTS', KEYS[3]) == 0 then redis.call('SREM', KEYS[4], ARGV[4]) end
else
  redis.call('SET', KEYS[2], after)
  redis.call('HSET', KEYS[3], ARGV[1], is_shadowed and after .. '?' or after)
  redis.call('SADD', KEYS[4], ARGV[4])
end
local answer = { up, down, after }
if is_shadowed then
  answer = { up + (after == 'up' and 1 or 0), down + (after == 'down' and 1 or 0), after }
  local event = { type = 'vote_update', comment_id = ARGV[1], upvotes = answer[1], downvotes = answer[2] }
  -- Their other windows hear of it, as anybody's would. Where the ban was lifted meanwhile it counts a little later.
  event.only, event.site_id = ARGV[3], redis.call('HGET', KEYS[5], 'site_id')
  redis.call(PUBLISH, KEYS[11], cjson.encode(event))
  if redis.call('SISMEMBER', KEYS[14], ARGV[3]) == 0 then
    redis.call('XADD', KEYS[9], '*', 'event', cjson.encode({ type = 'unshadow', user_id = ARGV[3] }))
  end
end
local function with_version()
  answer[4] = tonumber(redis.call('HGET', KEYS[5], 'version') or '0')
  return answer
end
if counts == counted then return with_version() end
redis.call('HSET', KEYS[1], 'upvotes', tostring(up), 'downvotes', tostring(down))
redis.call('ZADD', KEYS[6], 'XX', up - down, ARGV[1])
redis.call('ZADD', KEYS[7], 'XX', up - down, ARGV[1])
redis.call('ZADD', KEYS[8], 'XX', math.min(up, down), ARGV[1])
redis.call('ZADD', KEYS[12], 'XX', hot, ARGV[1])
redis.call('ZADD', KEYS[13], 'XX', hot, ARGV[1])
if redis.call('ZSCORE', KEYS[6], ARGV[1]) then
  local event = { type = 'vote_update', comment_id = ARGV[1], upvotes = up, downvotes = down }
  announce(KEYS[5], KEYS[10], KEYS[11], ARGV[1], event)
end
local change = (up - down) - (tonumber(comment[5]) - tonumber(comment[6]))
if change ~= 0 and comment[2] ~= ARGV[3] then
  local karma = { type = 'karma', user_id = comment[2], change = change }
  karma.comment_id, karma.voter, karma.vote = ARGV[1], ARGV[3], counts
  redis.call('XADD', KEYS[9], '*', 'event', cjson.encode(karma))
end
return with_version()
