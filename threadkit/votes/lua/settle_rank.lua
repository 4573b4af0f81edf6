-- Write a comment's hot score, unless its counts have moved on since it was computed.
--
-- KEYS[1] comment     hash
-- KEYS[2] page_hot    zset
-- KEYS[3] level_hot   zset
-- ARGV[1] comment id
-- ARGV[2] hot score, as text
-- ARGV[3] up the score was computed from
-- ARGV[4] down the score was computed from
--
-- Returns 'OK', or 'STALE': then a newer vote will settle.

local counts = redis.call('HMGET', KEYS[1], 'upvotes', 'downvotes')
if counts[1] ~= ARGV[3] or counts[2] ~= ARGV[4] then return 'STALE' end
redis.call('ZADD', KEYS[2], 'XX', ARGV[2], ARGV[1])
redis.call('ZADD', KEYS[3], 'XX', ARGV[2], ARGV[1])
return 'OK'
