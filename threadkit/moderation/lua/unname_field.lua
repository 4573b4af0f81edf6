-- Take somebody's id out of one field of a hash.
--
-- KEYS[1] jobs, standings or notes_about   hash
-- ARGV[1] field
-- ARGV[2] user id
-- ARGV[3] what stands in its place
--
-- Returns 1, or 0 when the field is gone.

local text = redis.call('HGET', KEYS[1], ARGV[1])
if not text then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], (string.gsub(text, (string.gsub(ARGV[2], '%-', '%%-')), ARGV[3])))
return 1
