-- Give a comment new HTML for the text it has, if it still has that text.
--
-- KEYS[1] comment        hash
-- KEYS[2] page           hash
-- KEYS[3] page_new       zset: what is shown
-- KEYS[4] page_changes   zset
-- KEYS[5] page_channel   channel
-- ARGV[1] comment id
-- ARGV[2] page id
-- ARGV[3] text that was rendered
-- ARGV[4] HTML
-- ARGV[5] version of the rendering
--
-- Returns 'OK', 'SAME' when the HTML is what it was, or 'CHANGED' when the comment is not what it was.

local found = redis.call('HMGET', KEYS[1], 'page_id', 'content', 'content_html', 'status')
if found[1] ~= ARGV[2] or found[2] ~= ARGV[3] or found[4] == 'deleted' then return 'CHANGED' end
redis.call('HSET', KEYS[1], 'content_html', ARGV[4], 'render_version', ARGV[5])
if found[3] == ARGV[4] then return 'SAME' end
if redis.call('ZSCORE', KEYS[3], ARGV[1]) then
  announce(KEYS[2], KEYS[4], KEYS[5], ARGV[1], { type = 'edit_comment', comment_id = ARGV[1] })
end
return 'OK'
