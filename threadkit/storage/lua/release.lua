-- Give an index entry up, if it is still held by its owner.
--
-- KEYS[1] entry   string
-- ARGV[1] owner
--
-- Returns 1 when it was released, 0 when it belongs to somebody else or nobody.

if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
