-- Take a job one step further, or end it: only if it is still where it was read.
--
-- KEYS[1] jobs     hash: job → JSON
-- KEYS[2] outbox   stream
-- KEYS[3] modlog   stream
-- ARGV[1] job id
-- ARGV[2] the step it was read at
-- ARGV[3] the job as it is from now on, as JSON
-- ARGV[4] event that has the next step done, or ''
-- ARGV[5] log entry, as JSON, or ''
--
-- Returns 1, or 0 when somebody else took it further or ended it.

local stored = redis.call('HGET', KEYS[1], ARGV[1])
local job = stored and cjson.decode(stored)
if not job or job.state ~= 'running' or job.step ~= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
if ARGV[4] ~= '' then redis.call('XADD', KEYS[2], '*', 'event', ARGV[4]) end
if ARGV[5] ~= '' then redis.call('XADD', KEYS[3], '*', 'entry', ARGV[5]) end
return 1
