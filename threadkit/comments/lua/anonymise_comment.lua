-- Take the author's identity from a comment and keep its text, votes and replies.
--
-- KEYS[1] comment       hash
-- KEYS[2] page          hash
-- KEYS[3] comments_of   zset of the author
-- KEYS[4] unlisted      zset of the author on this page
-- KEYS[5] page_new      zset: what is shown
-- KEYS[6] page_changes   zset
-- KEYS[7] page_channel   channel
-- KEYS[8] appeals        zset of the site
-- KEYS[9] kept           string: what a moderator deleted a moment ago
-- KEYS[10] closed_reports   string
-- ARGV[1] author
-- ARGV[2] comment id
-- ARGV[3] fields and values that replace the identity, as a JSON list
-- ARGV[4] now, ms
-- ARGV[5] page id
--
-- Returns 1, 0 when the comment is not (any more) the author's, or 'CHANGED' when it is on another page by now.

local found = redis.call('HMGET', KEYS[1], 'author_id', 'page_id')
if found[2] and found[2] ~= ARGV[5] then return 'CHANGED' end
redis.call('ZREM', KEYS[3], ARGV[2])
redis.call('ZREM', KEYS[4], ARGV[2])
redis.call('DEL', KEYS[9], KEYS[10])
if found[1] ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], unpack(cjson.decode(ARGV[3])))
redis.call('HDEL', KEYS[1], 'author_avatar', 'appeal', 'appealed_ms', 'appeal_state')
redis.call('ZREM', KEYS[8], ARGV[2])
if redis.call('ZSCORE', KEYS[5], ARGV[2]) then
  redis.call('HSET', KEYS[2], 'updated_ms', ARGV[4])
  announce(KEYS[2], KEYS[6], KEYS[7], ARGV[2], { type = 'author_gone', comment_id = ARGV[2] })
end
return 1
