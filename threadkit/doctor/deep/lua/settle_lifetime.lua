-- Give a key the end that its line of the schema says, or none.
--
-- KEYS[1] key
-- ARGV[1] how long it may live, s; '' for ever
--
-- Returns 1.

if ARGV[1] == '' then
  redis.call('PERSIST', KEYS[1])
else
  local left = redis.call('TTL', KEYS[1])
  if left == -1 or left > tonumber(ARGV[1]) then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
end
return 1
