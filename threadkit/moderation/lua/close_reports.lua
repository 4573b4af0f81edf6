-- Close all reports of a comment: somebody has looked, and it may stay.
--
-- KEYS[1] comment           hash
-- KEYS[2] reports           zset of the site
-- KEYS[3] comment_reports   hash: reporter → report
-- KEYS[4] modlog            stream
-- KEYS[5] outbox            stream
-- KEYS[6] closed_reports    string
-- ARGV[1] log entry, as JSON; the comment's author is added
-- ARGV[2] what its reporters are told, as JSON
-- ARGV[3] how long it can be undone, s
-- ARGV[4] site id
-- ARGV[5] the updated_at it must still have, or ''
--
-- Returns {how many people had reported it, id of the log entry}; only {0} when nobody had, {} when the site has no such
-- comment; or {word}: CHANGED, or UNFIT with the status when it is not shown and so cannot stay.

local found = redis.call('HMGET', KEYS[1], 'site_id', 'author_id', 'updated_at', 'status')
if found[1] ~= ARGV[4] then return {} end
if redis.call('EXISTS', KEYS[3]) == 0 then return { 0 } end
if ARGV[5] ~= '' and found[3] ~= ARGV[5] then return { 'CHANGED' } end
if found[4] ~= 'approved' then return { 'UNFIT', found[4] } end
keep_reports(KEYS[1], KEYS[2], KEYS[3], KEYS[6], ARGV[3])
local people = close_all_reports(KEYS[1], KEYS[2], KEYS[3], KEYS[5], cjson.decode(ARGV[2]))
local entry = cjson.decode(ARGV[1])
entry.user_id, entry.seen = found[2], found[3]
local at = redis.call('XADD', KEYS[4], '*', 'entry', cjson.encode(entry))
local kept = cjson.decode(redis.call('GET', KEYS[6]))
kept.entry = at
redis.call('SET', KEYS[6], cjson.encode(kept), 'EX', ARGV[3])
return { #people, at }
