-- Keep a note about somebody, unless there are too many.
--
-- KEYS[1] notes   hash: note → JSON
-- ARGV[1] note id
-- ARGV[2] the note, as JSON
-- ARGV[3] how many there may be
--
-- Returns 1, or 0 when there are as many already.

if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 1 end
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
