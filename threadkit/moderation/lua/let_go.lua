-- Forget which words stood in comments whose texts are erased. How often each word was in spam, over all, stays.
--
-- KEYS[1] filter_learnt   hash: comment → JSON {label, before, stamp, tokens, print}
-- KEYS[2] filter_order    zset of those comments
-- KEYS[3] filter_texts    hash: 'label print' → how many of those comments
-- ARGV    comment ids
--
-- Returns how many were known.

local known = 0
for _, id in ipairs(ARGV) do
  local text = redis.call('HGET', KEYS[1], id)
  if text then
    known = known + 1
    redis.call('HDEL', KEYS[1], id)
    redis.call('ZREM', KEYS[2], id)
    local record = cjson.decode(text)
    local name = record.label .. ' ' .. record.print
    if record.label ~= '' and #record.tokens > 0 and redis.call('HINCRBY', KEYS[3], name, -1) <= 0 then
      redis.call('HDEL', KEYS[3], name)
    end
  end
end
return known
