-- Write hot scores made with a site's formula, where they differ, unless site or counts have moved on since.
--
-- KEYS[1] config   hash of the site
-- KEYS[2] then, for each comment: comment, page, page_hot, the hot index of its level
-- ARGV[1] version of the site the formula was read from
-- ARGV[2] JSON list, for each comment: {id, page id, up, down, hot}; all of it text
--
-- Returns -1 when the site has changed, or how many scores were put right. A comment whose counts moved on is left to
-- the vote that moved them.

if redis.call('HGET', KEYS[1], 'version') ~= ARGV[1] then return -1 end
local written = 0
local changed_pages = {}
for number, given in ipairs(cjson.decode(ARGV[2])) do
  local first = number * 4 - 2
  local record = redis.call('HMGET', KEYS[first], 'page_id', 'upvotes', 'downvotes')
  if record[1] == given[2] and record[2] == given[3] and record[3] == given[4] then
    for index = first + 2, first + 3 do
      local score = redis.call('ZSCORE', KEYS[index], given[1])
      if score and tonumber(score) ~= tonumber(given[5]) then
        redis.call('ZADD', KEYS[index], given[5], given[1])
        changed_pages[KEYS[first + 1]] = true
        written = written + 1
      end
    end
  end
end
for page in pairs(changed_pages) do
  if redis.call('EXISTS', page) == 1 then redis.call('HSET', page, 'changes_from', redis.call('HINCRBY', page, 'version', 1)) end
end
return written
