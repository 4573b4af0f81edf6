-- Put comments into the indexes that follow from their records, and out of the others; or only say what does not fit.
--
-- KEYS[1] config     hash of the site
-- KEYS[2] comments   zset of the site
-- KEYS[3] modqueue   zset
-- KEYS[4] then, for each comment, thirteen keys: comment, page, page_new, page_top, page_hot, the four indexes of its
--         level (new, top, hot, controversial), its own replies, comments_of and unlisted of its author, pinned
-- ARGV[1] 'repair' or 'check'
-- ARGV[2] version of the site with whose formula the hot scores were computed
-- ARGV[3] the author of comments that lost theirs
-- ARGV[4] now, ms
-- ARGV[5] JSON list, for each comment: {id, author, page id, created ms, up, down, hot, depth or '', page url, site id,
--         'sure' when a hot score that differs is wrong, '' when it may be a vote that is being counted}; all of it text
--
-- Returns 'SITE_CHANGED', or a list of {number of the comment, kind, what, found, wanted}; `what` is 'again' for a
-- comment that changed since it was read, and 'suspect' for a hot score that differs and may yet be settled.

if (redis.call('HGET', KEYS[1], 'version') or '') ~= ARGV[2] then return 'SITE_CHANGED' end
local is_repair = ARGV[1] == 'repair'
local found = {}
local changed_pages = {}

for number, given in ipairs(cjson.decode(ARGV[5])) do
  local id, author, page_id, created, hot, depth = given[1], given[2], given[3], given[4], given[7], given[8]
  local first = 4 + (number - 1) * 13
  local comment, page = KEYS[first], KEYS[first + 1]
  local record =
    redis.call('HMGET', comment, 'status', 'is_shadowed', 'author_id', 'page_id', 'upvotes', 'downvotes', 'depth', 'buried')
  local replies = redis.pcall('ZCARD', KEYS[first + 9])

  local function note(kind, what, was, wanted, is_visible)
    found[#found + 1] = { number, kind, what, was or '', wanted or '' }
    if is_visible and is_repair then changed_pages[page] = true end
    return is_repair
  end

  local function settle(kind, index, wanted, is_visible)
    local score = redis.pcall('ZSCORE', index, id)
    if type(score) == 'table' then
      return -- no index at all, which was told before
    elseif not wanted then
      if score and note(kind, 'stray', score, '', is_visible) then redis.call('ZREM', index, id) end
    elseif not score then
      if note(kind, 'missing', '', wanted, is_visible) then redis.call('ZADD', index, wanted, id) end
    -- Another machine's logarithm may differ in the last digit.
    elseif math.abs(score - wanted) > 1e-13 * math.max(1, math.abs(wanted)) then
      if kind:sub(-3) == 'hot' and given[11] ~= 'sure' then
        found[#found + 1] = { number, kind, 'suspect', '', '' }
      elseif note(kind, 'score', score, wanted, is_visible) then
        redis.call('ZADD', index, wanted, id)
      end
    end
  end

  if not record[1] then
    -- Gone meanwhile: whoever took it away took its index entries along.
  elseif record[3] ~= author or record[4] ~= page_id or record[5] ~= given[5] or record[6] ~= given[6] then
    found[#found + 1] = { number, '', 'again', '', '' }
  else
    local status, is_shadowed = record[1], record[2] == 'true'
    -- A deleted comment holds its place while something shown hangs on it.
    local is_shown = (status == 'approved' and not is_shadowed)
      or (status == 'deleted' and type(replies) == 'number' and replies > 0)
    -- What hangs on a hidden comment keeps its place there, and is not on the page.
    local is_on_page = is_shown and not record[8]
    local is_unlisted = (status == 'pending' or (status == 'approved' and is_shadowed)) and author ~= ARGV[3]
    local up, down = tonumber(given[5]), tonumber(given[6])
    local top, controversial = tostring(up - down), tostring(math.min(up, down))

    if is_shown and redis.call('EXISTS', page) == 0 and note('page', 'missing', '', page_id) then
      -- Its title is lost. The version starts above any that somebody may have in a cache.
      redis.call('HSET', page, 'site_id', given[10], 'url', given[9], 'version', ARGV[4], 'changes_from', ARGV[4])
    end
    settle('page_new', KEYS[first + 2], is_on_page and created, true)
    settle('page_top', KEYS[first + 3], is_on_page and top, true)
    settle('page_hot', KEYS[first + 4], is_on_page and hot, true)
    settle('level:new', KEYS[first + 5], is_shown and created, true)
    settle('level:top', KEYS[first + 6], is_shown and top, true)
    settle('level:hot', KEYS[first + 7], is_shown and hot, true)
    settle('level:controversial', KEYS[first + 8], is_shown and controversial, true)
    settle('comments', KEYS[2], created)
    if author ~= ARGV[3] then settle('comments_of', KEYS[first + 10], created) end
    settle('modqueue', KEYS[3], status == 'pending' and not is_shadowed and created)
    settle('unlisted', KEYS[first + 11], is_unlisted and created)
    if not (is_on_page and status == 'approved') then settle('pinned', KEYS[first + 12], false, true) end
    if depth ~= '' and record[7] ~= depth and note('depth', 'value', record[7], depth, true) then
      redis.call('HSET', comment, 'depth', depth)
    end
  end
end
for page in pairs(changed_pages) do
  if redis.call('EXISTS', page) == 1 then redis.call('HSET', page, 'changes_from', redis.call('HINCRBY', page, 'version', 1)) end
end
return found
