-- Which lists say who looks at a page and who writes there. A page id is known before anything is written there, and to
-- anybody: until the page is this site's, and if it is another's, its visitors are on lists that only this site has.
--
-- keys   page_channel, page, the page's presence, presence_conns, viewers and typing, and then the site's own four
-- site   site id
--
-- Returns the lists by name, and the page's version: 0 if it is not the site's.

local function lists_of(keys, site)
  local page = redis.call('HMGET', keys[2], 'site_id', 'version')
  local is_ours = page[1] == site
  local from = is_ours and 2 or 6
  if is_ours and redis.call('EXISTS', keys[7], keys[8], keys[9], keys[10]) > 0 then
    for i = 3, 6 do
      if redis.call('EXISTS', keys[i + 4]) == 1 then redis.call('RENAME', keys[i + 4], keys[i]) end
    end
  end
  local lists = { presence = keys[from + 1], conns = keys[from + 2], viewers = keys[from + 3], typing = keys[from + 4] }
  return lists, is_ours and tonumber(page[2] or '0') or 0
end
