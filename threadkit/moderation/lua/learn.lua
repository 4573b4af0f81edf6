-- Learn from what was decided about a comment: once, and instead of what was learnt from it before.
--
-- KEYS[1] filter_tokens      hash: token → 'rejected approved day'
-- KEYS[2] filter_totals      hash
-- KEYS[3] filter_learnt      hash: comment → JSON {label, stamp, tokens, print, before}; before are the decisions that
--                            undoing goes back to, {label, tokens, print} each, the newest last
-- KEYS[4] filter_order       zset of those comments
-- KEYS[5] filter_texts       hash: 'label print' → how many of those comments
-- KEYS[6] author_decisions   hash
-- KEYS[7] author_lately      zset
-- ARGV[1] comment id
-- ARGV[2] 'approved', 'rejected', or 'undo' to go back to what was decided before
-- ARGV[3] stamp of the decision; what is not later than the newest known one is left alone
-- ARGV[4] JSON list of tokens; those that begin with '#' are features
-- ARGV[5] print of the text, the same for the same tokens
-- ARGV[6] decided, ms
-- ARGV[7] '1' when the author has a record of their own
-- ARGV[8] how many comments are kept
-- ARGV[9] how long they are kept, ms
-- ARGV[10] how many tokens are kept
-- ARGV[11] how long decisions are recent, ms
-- ARGV[12] how many of them are kept
--
-- Returns {label before, label now}, or {} when it was known.

local MOST_BEFORE = 5
local id, now = ARGV[1], tonumber(ARGV[6])
local today = math.floor(now / 86400000)
local known = redis.call('HGET', KEYS[3], id)
known = known and cjson.decode(known)
if known and known.stamp >= ARGV[3] then return {} end

local function numbers(token)
  local text = redis.call('HGET', KEYS[1], token)
  local rejected, approved = string.match(text or '0 0', '^(%d+) (%d+)')
  return tonumber(rejected), tonumber(approved)
end

local function add(name, by)
  if by ~= 0 then redis.call('HINCRBY', KEYS[2], name, string.format('%d', by)) end
end

-- What one text adds to the counts, or takes away again. A token that was forgotten meanwhile is not taken twice.
local function count(label, tokens, by)
  local words = 0
  for _, token in ipairs(tokens) do
    local rejected, approved = numbers(token)
    local had = label == 'rejected' and rejected or approved
    if had + by >= 0 then
      if label == 'rejected' then rejected = rejected + by else approved = approved + by end
      if rejected + approved == 0 then
        redis.call('HDEL', KEYS[1], token)
      else
        redis.call('HSET', KEYS[1], token, string.format('%d %d %d', rejected, approved, today))
      end
      if string.sub(token, 1, 1) ~= '#' then words = words + by end
    end
  end
  add(label .. '_texts', by)
  add(label .. '_tokens', words)
end

local function change(label, tokens, print, by)
  if label == '' or #tokens == 0 then return end
  add(label, by)
  local copies = redis.call('HINCRBY', KEYS[5], label .. ' ' .. print, by)
  if copies <= 0 then redis.call('HDEL', KEYS[5], label .. ' ' .. print) end
  if copies == (by == 1 and 1 or 0) then count(label, tokens, by) end
end

-- Forget that a comment can be taken back; what was learnt from it stays.
local function let_go(other)
  local text = redis.call('HGET', KEYS[3], other)
  redis.call('HDEL', KEYS[3], other)
  redis.call('ZREM', KEYS[4], other)
  local record = text and cjson.decode(text)
  if record and record.label ~= '' and #record.tokens > 0 then
    local name = record.label .. ' ' .. record.print
    if redis.call('HINCRBY', KEYS[5], name, -1) <= 0 then redis.call('HDEL', KEYS[5], name) end
  end
end

local function forget_rare_tokens()
  local surplus = redis.call('HLEN', KEYS[1]) - tonumber(ARGV[10])
  if surplus <= 0 then return end
  local found = redis.call('HRANDFIELD', KEYS[1], 2000, 'WITHVALUES')
  local rare = {}
  for i = 1, #found, 2 do
    local rejected, approved, day = string.match(found[i + 1], '^(%d+) (%d+) (%d+)')
    if string.sub(found[i], 1, 1) ~= '#' then
      rare[#rare + 1] = { found[i], tonumber(rejected), tonumber(approved), tonumber(day) }
    end
  end
  table.sort(rare, function(one, other)
    local mine, theirs = one[2] + one[3], other[2] + other[3]
    if mine ~= theirs then return mine < theirs end
    if one[4] ~= other[4] then return one[4] < other[4] end
    return one[1] < other[1]
  end)
  local rejected, approved = 0, 0
  for i = 1, math.min(#rare, surplus + 500) do
    redis.call('HDEL', KEYS[1], rare[i][1])
    rejected, approved = rejected + rare[i][2], approved + rare[i][3]
  end
  add('rejected_tokens', -rejected)
  add('approved_tokens', -approved)
end

local old = known and known.label or ''
local before = known and known.before or {}
-- An older server kept the label only.
if type(before) == 'string' then before = { { label = before, tokens = known.tokens, print = known.print } } end
local record = { label = ARGV[2], stamp = ARGV[3], tokens = cjson.decode(ARGV[4]), print = ARGV[5], before = before }
if ARGV[2] == 'undo' then
  local last = table.remove(before) or { label = '', tokens = {}, print = '' }
  record.label, record.tokens, record.print = last.label, last.tokens, last.print
else
  before[#before + 1] = known and { label = old, tokens = known.tokens, print = known.print } or nil
  if #before > MOST_BEFORE then table.remove(before, 1) end
end
local label = record.label

if known then change(old, known.tokens, known.print, -1) end
change(label, record.tokens, record.print, 1)
redis.call('HSET', KEYS[3], id, cjson.encode(record))
redis.call('ZADD', KEYS[4], now, id)

if ARGV[7] == '1' and old ~= label then
  if old ~= '' then
    if redis.call('HINCRBY', KEYS[6], old, -1) <= 0 then redis.call('HDEL', KEYS[6], old) end
    redis.call('ZREM', KEYS[7], id .. ' ' .. old)
  end
  if label ~= '' then
    redis.call('HINCRBY', KEYS[6], label, 1)
    redis.call('ZADD', KEYS[7], now, id .. ' ' .. label)
  end
  redis.call('ZREMRANGEBYSCORE', KEYS[7], '-inf', now - tonumber(ARGV[11]))
  redis.call('ZREMRANGEBYRANK', KEYS[7], 0, -1 - tonumber(ARGV[12]))
  redis.call('PEXPIRE', KEYS[7], ARGV[11])
end

local outdated = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now - tonumber(ARGV[9]), 'LIMIT', 0, 100)
for _, other in ipairs(outdated) do let_go(other) end
local surplus = redis.call('ZCARD', KEYS[4]) - tonumber(ARGV[8])
if surplus > 0 then
  for _, other in ipairs(redis.call('ZRANGE', KEYS[4], 0, surplus - 1)) do let_go(other) end
end
for key = 3, 5 do redis.call('PEXPIRE', KEYS[key], ARGV[9]) end
forget_rare_tokens()
return { old, label }
