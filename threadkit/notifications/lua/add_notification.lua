-- Tell a user something, once.
--
-- KEYS[1] profile          hash
-- KEYS[2] notifications    zset
-- KEYS[3] unread           string
-- KEYS[4] unread_by_site   hash
-- KEYS[5] channel          the user's
-- ARGV[1] id
-- ARGV[2] its ms
-- ARGV[3] the notification as it is kept, JSON
-- ARGV[4] how many are kept
-- ARGV[5] site id
-- ARGV[6] the notification as it is sent, JSON
--
-- Returns 'ADDED', 'KNOWN', 'OLD' when there are enough newer ones, or 'GONE' when the user is.

if redis.call('EXISTS', KEYS[1]) == 0 then return 'GONE' end
local box = { all = KEYS[2], unread = KEYS[3], by_site = KEYS[4] }
if find_notice(box, ARGV[2], ARGV[1]) then return 'KNOWN' end
return deliver(box, KEYS[5], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]) and 'ADDED' or 'OLD'
