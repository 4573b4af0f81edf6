-- Take back that a comment's reports were dismissed.
--
-- KEYS[1] comment           hash
-- KEYS[2] reports           zset of the site
-- KEYS[3] comment_reports   hash: reporter → report
-- KEYS[4] modlog            stream
-- KEYS[5] outbox            stream
-- KEYS[6] closed_reports    string
-- ARGV[1] comment id
-- ARGV[2] id of the dismissal's log entry
-- ARGV[3] log entry, as JSON; the comment's author is added
-- ARGV[4] site id
--
-- Returns the id of the log entry, or 'LATE' when they are not kept any more.

local found = redis.call('HMGET', KEYS[1], 'status', 'site_id', 'author_id')
local text = redis.call('GET', KEYS[6])
if not found[1] or found[1] == 'deleted' or found[2] ~= ARGV[4] then return 'LATE' end
if not text or cjson.decode(text).entry ~= ARGV[2] then return 'LATE' end
local entry = cjson.decode(ARGV[3])
entry.user_id = found[3]
entry.count = reopen_reports(KEYS[1], KEYS[2], KEYS[3], KEYS[6], KEYS[5], ARGV[1])
return redis.call('XADD', KEYS[4], '*', 'entry', cjson.encode(entry))
