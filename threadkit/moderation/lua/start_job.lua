-- Begin a job, unless the same is under way for the same person; write it down, and have its first step done.
--
-- KEYS[1] jobs     hash: job → JSON
-- KEYS[2] outbox   stream
-- KEYS[3] modlog   stream
-- ARGV[1] job id
-- ARGV[2] the job, as JSON
-- ARGV[3] whom it is about
-- ARGV[4] how many jobs are kept
-- ARGV[5] event for the outbox
-- ARGV[6] log entry, as JSON
--
-- Returns the job that is under way now, as JSON, or '' when too many are.

local stored = redis.call('HGETALL', KEYS[1])
local oldest
for i = 1, #stored, 2 do
  local job = cjson.decode(stored[i + 1])
  if stored[i] == ARGV[1] then return stored[i + 1] end
  if job.state == 'running' then
    if job.user_id == ARGV[3] then return stored[i + 1] end
  elseif not oldest or stored[i] < oldest then
    oldest = stored[i]
  end
end
if #stored / 2 >= tonumber(ARGV[4]) then
  if not oldest then return '' end
  redis.call('HDEL', KEYS[1], oldest)
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('XADD', KEYS[2], '*', 'event', ARGV[5])
redis.call('XADD', KEYS[3], '*', 'entry', ARGV[6])
return ARGV[2]
