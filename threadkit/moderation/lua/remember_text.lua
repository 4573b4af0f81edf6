-- Remember for a short while what somebody wrote, to know it when it comes again.
--
-- KEYS[1] recent_texts   zset
-- ARGV[1] sketch of the text, with its comment and page
-- ARGV[2] written, ms
-- ARGV[3] how long it is remembered, ms
-- ARGV[4] how many are
--
-- Returns how many are remembered.

redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', tonumber(ARGV[2]) - tonumber(ARGV[3]))
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - tonumber(ARGV[4]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return redis.call('ZCARD', KEYS[1])
