-- Take a site's outbox for one worker, or keep it.
--
-- KEYS[1] outbox_lease   string
-- ARGV[1] worker
-- ARGV[2] how long, s
--
-- Returns 1 when this worker has it now, 0 when another one has.

local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
