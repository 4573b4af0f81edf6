-- Close all reports of a comment, and have those who made them told what became of it.
--
-- comment           hash
-- reports           zset of the site
-- comment_reports   hash: reporter → report
-- outbox            stream
-- facts             table for the event: comment_id, outcome, by, at_ms, is_verdict
--
-- Returns the people who had reported it. A crowd is told in several events, so that each is handled in time.

local function close_all_reports(comment, reports, comment_reports, outbox, facts)
  local people = redis.call('HKEYS', comment_reports)
  for _, report in ipairs(redis.call('HVALS', comment_reports)) do redis.call('ZREM', reports, report) end
  redis.call('DEL', comment_reports)
  redis.call('HDEL', comment, 'report_weight')
  facts.type = 'reports_closed'
  for first = 1, #people, 100 do
    facts.reporters = { unpack(people, first, math.min(first + 99, #people)) }
    redis.call('XADD', outbox, '*', 'event', cjson.encode(facts))
  end
  return people
end
