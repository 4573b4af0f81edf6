-- Ask for another look at a comment that was turned down or hidden: its author, once.
--
-- KEYS[1] comment   hash
-- KEYS[2] appeals   zset of the site
-- KEYS[3] modlog    stream
-- ARGV[1] comment id
-- ARGV[2] author
-- ARGV[3] the author's words
-- ARGV[4] now, ms
-- ARGV[5] the weight of reports that hides a comment
-- ARGV[6] log entry, as JSON
-- ARGV[7] site id
--
-- Returns {word}: OK, MISSING, NOT_YOURS, APPEALED, or UNFIT with the status.

local names = { 'status', 'author_id', 'report_weight', 'appeal', 'appealed_ms', 'appeal_state', 'site_id' }
local found = redis.call('HMGET', KEYS[1], unpack(names))
local status = found[1]
if not status or status == 'deleted' or found[7] ~= ARGV[7] then return { 'MISSING' } end
if found[2] ~= ARGV[2] then return { 'NOT_YOURS' } end
-- The same again, after a lost answer, is fine.
local is_same = found[4] == ARGV[3] and found[5] == ARGV[4] and found[6] == 'open'
if found[4] then return { is_same and 'OK' or 'APPEALED' } end
local is_hidden = status == 'pending' and tonumber(found[3] or '0') >= tonumber(ARGV[5])
if status ~= 'rejected' and not is_hidden then return { 'UNFIT', status } end
redis.call('HSET', KEYS[1], 'appeal', ARGV[3], 'appealed_ms', ARGV[4], 'appeal_state', 'open')
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
redis.call('XADD', KEYS[3], '*', 'entry', ARGV[6])
return { 'OK' }
