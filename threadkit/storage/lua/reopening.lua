-- What a decision closes can be opened again while it can be undone.
--
-- comment           hash
-- reports           zset of the site
-- comment_reports   hash: reporter → report
-- closed            string: the closed reports, as JSON
-- seconds           how long they are kept
-- outbox            stream: whoever was told the outcome is told that it does not hold
-- id                of the comment

-- Before they are closed. One who had none forgets what an earlier decision closed.
local function keep_reports(comment, reports, comment_reports, closed, seconds)
  local all = redis.call('HGETALL', comment_reports)
  if #all == 0 then
    redis.call('DEL', closed)
    return
  end
  local kept = { weight = redis.call('HGET', comment, 'report_weight') or '0', reports = {} }
  for i = 1, #all, 2 do
    kept.reports[#kept.reports + 1] = { all[i], all[i + 1], redis.call('ZSCORE', reports, all[i + 1]) or '0' }
  end
  redis.call('SET', closed, cjson.encode(kept), 'EX', seconds)
end

-- What somebody said anew meanwhile stands. Returns how many are open again.
local function reopen_reports(comment, reports, comment_reports, closed, outbox, id)
  local text = redis.call('GET', closed)
  if not text then return 0 end
  redis.call('DEL', closed)
  local kept, opened, people = cjson.decode(text), 0, {}
  for i, one in ipairs(kept.reports) do
    people[i] = one[1]
    if redis.call('HSETNX', comment_reports, one[1], one[2]) == 1 then
      redis.call('ZADD', reports, one[3], one[2])
      opened = opened + 1
    end
  end
  for first = 1, #people, 100 do
    local some = { unpack(people, first, math.min(first + 99, #people)) }
    local event = { type = 'reports_reopened', comment_id = id, reporters = some }
    redis.call('XADD', outbox, '*', 'event', cjson.encode(event))
  end
  if opened == #kept.reports then
    redis.call('HINCRBYFLOAT', comment, 'report_weight', kept.weight)
  elseif tonumber(kept.weight) > tonumber(redis.call('HGET', comment, 'report_weight') or '0') then
    redis.call('HSET', comment, 'report_weight', kept.weight)
  end
  return opened
end
