-- Take somebody's id out of a comment of somebody else's: as the one it names, or who decided about it.
--
-- KEYS[1] comment        hash
-- KEYS[2] page           hash
-- KEYS[3] page_new       zset: what is shown
-- KEYS[4] page_changes   zset
-- KEYS[5] page_channel   channel
-- ARGV[1] comment id
-- ARGV[2] user id
-- ARGV[3] what stands in its place
--
-- Returns how many fields had it.

local sought = string.gsub(ARGV[2], '%-', '%%-')
local changed = 0
for _, name in ipairs({ 'decided_by', 'mentions', 'content_html' }) do
  local text = redis.call('HGET', KEYS[1], name)
  if text and string.find(text, ARGV[2], 1, true) then
    redis.call('HSET', KEYS[1], name, (string.gsub(text, sought, ARGV[3])))
    changed = changed + 1
    if name == 'content_html' and redis.call('ZSCORE', KEYS[3], ARGV[1]) then
      announce(KEYS[2], KEYS[4], KEYS[5], ARGV[1], { type = 'edit_comment', comment_id = ARGV[1] })
    end
  end
end
return changed
