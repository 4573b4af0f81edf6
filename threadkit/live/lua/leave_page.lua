-- A user looks at a page from one worker less.
--
-- KEYS[1] presence         set
-- KEYS[2] presence_conns   zset
-- KEYS[3] page_channel     channel
-- ARGV[1] user
-- ARGV[2] worker
-- ARGV[3] site id
--
-- Returns 1.

redis.call('ZREM', KEYS[2], ARGV[1] .. '|' .. ARGV[2])
take_away(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[3])
return 1
