-- Tell a site's moderators what happened to something that they look after.
--
-- channel   the staff's
-- queue     modqueue: how many wait now is said too
-- event     table with a type and a comment_id
--
-- In the same step as the change, so that nobody misses it and nobody hears of what did not happen.

local function tell_staff(channel, queue, event)
  event.queue = redis.call('ZCARD', queue)
  redis.call(PUBLISH, channel, cjson.encode(event))
end
