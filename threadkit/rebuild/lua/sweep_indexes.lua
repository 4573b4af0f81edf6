-- Take out of indexes what does not belong there: comments that are gone, or that belong somewhere else.
--
-- KEYS[1] then, for each index: the index, the page that shows it (or the index again), and its members' comments
-- ARGV[1] 'repair' or 'check'
-- ARGV[2] JSON list, for each index: {fields that its comments must have ('' for none), whether people see it on the
--         page, whether deleted comments may stay, ids of the members}
-- ARGV[3] the author of comments that lost theirs
--
-- Returns a list of {number of the index, id}.

local is_repair = ARGV[1] == 'repair'
local found = {}
local at = 1
for number, group in ipairs(cjson.decode(ARGV[2])) do
  local wanted, is_visible, keeps_deleted, ids = group[1], group[2], group[3], group[4]
  local index, page = KEYS[at], KEYS[at + 1]
  local is_changed = false
  for place, id in ipairs(ids) do
    -- A record that cannot be read is damage, which is told elsewhere; what follows from it is not known.
    local record = redis.pcall('HMGET', KEYS[at + 1 + place], 'status', 'site_id', 'page_id', 'parent_id', 'author_id')
    local belongs = record.err or record[1]
    -- What was deleted while it was hidden stays rejected, so that what hangs on it stays hidden too.
    local is_deleted = record[1] == 'deleted' or (record[1] == 'rejected' and record[5] == ARGV[3])
    if belongs and not record.err and not (keeps_deleted and is_deleted) then
      local has = { site_id = record[2], page_id = record[3], parent_id = record[4], author_id = record[5] }
      for field, value in pairs(wanted) do
        if (has[field] or '') ~= value then belongs = false end
      end
    end
    if not belongs and redis.call('ZSCORE', index, id) then
      found[#found + 1] = { number, id }
      if is_repair then
        redis.call('ZREM', index, id)
        is_changed = true
      end
    end
  end
  if is_changed and is_visible and redis.call('EXISTS', page) == 1 then redis.call('HSET', page, 'changes_from', redis.call('HINCRBY', page, 'version', 1)) end
  at = at + 2 + #ids
end
return found
