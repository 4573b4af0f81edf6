-- Note that an outbox entry has not had its effect on a user yet, so that later ones may go before it.
--
-- KEYS[1] profile   hash
-- KEYS[2] applied   hash: site → newest entry that was looked at; 'site entry' → one that was put off
-- ARGV[1] site id
-- ARGV[2] entry id, padded so that later ones compare as greater
-- ARGV[3] how many may be put off; the oldest are given up for more
--
-- Returns 1 when it was noted, 0 when it was before, or had its effect, or the user is gone.

if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local newest = redis.call('HGET', KEYS[2], ARGV[1])
if newest and newest >= ARGV[2] then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2], ARGV[1] .. ' ' .. ARGV[2], '')
local most = tonumber(ARGV[3])
if redis.call('HLEN', KEYS[2]) > most then
  local noted = {}
  for _, field in ipairs(redis.call('HKEYS', KEYS[2])) do
    local entry = string.match(field, ' (.+)$')
    if entry then noted[#noted + 1] = { entry, field } end
  end
  table.sort(noted, function(a, b) return a[1] < b[1] end)
  for i = 1, #noted - most do redis.call('HDEL', KEYS[2], noted[i][2]) end
end
return 1
