-- Give a dead letter another chance.
--
-- One that was tried keeps its name, by which its effects know whether they happened. One that nobody ever understood
-- becomes a new entry: entries after its old place may have had their effect, and it would be taken for one of them.
--
-- KEYS[1] outbox_dead       stream
-- KEYS[2] outbox            stream
-- KEYS[3] outbox_due        zset: name → when it is tried again
-- KEYS[4] outbox_retrying   hash: name → what is tried again
-- ARGV[1] id of the dead letter
-- ARGV[2] 'again' when it was tried before, 'new' when it never was
-- ARGV[3] event
-- ARGV[4] the handler it is for, or '' for all
-- ARGV[5] name
-- ARGV[6] now, ms
-- ARGV[7] what is tried again
--
-- Returns 1, or 0 when there is no such dead letter any more.

if redis.call('XDEL', KEYS[1], ARGV[1]) == 0 then return 0 end
if ARGV[2] == 'new' then
  redis.call('XADD', KEYS[2], '*', 'event', ARGV[3], 'handler', ARGV[4])
else
  redis.call('HSET', KEYS[4], ARGV[5], ARGV[7])
  redis.call('ZADD', KEYS[3], ARGV[6], ARGV[5])
end
return 1
