-- Write down how far a re-ranking has come, if it is still ours to do, and go on holding it.
--
-- KEYS[1] ranking         hash
-- KEYS[2] ranking_lease   string
-- ARGV[1] holder
-- ARGV[2] how long the lease lasts, s
-- ARGV[3] fields and values of the whole record, as a JSON list
--
-- Returns 1, or 0 when somebody else has taken over.

if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('EXPIRE', KEYS[2], ARGV[2])
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(cjson.decode(ARGV[3])))
return 1
