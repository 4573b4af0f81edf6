-- Read the next members of several levels of a thread: best score first (or last), equal ones in the order of posting.
--
-- KEYS[1] then one index a level   zset
-- ARGV[1] 'best' or 'least': which score comes first
-- ARGV[2] how many members of each level
-- ARGV[3] then, for each level, the score and the member after which to go on, both '' for the start
--
-- Returns for each level a list {member, score, member, score, …}.

local limit = tonumber(ARGV[2])

-- The first place at or after which members of this score come behind the given one.
local function place_behind(key, from, till, member)
  while from < till do
    local middle = math.floor((from + till) / 2)
    if redis.call('ZRANGE', key, middle, middle)[1] > member then till = middle else from = middle + 1 end
  end
  return from
end

local function add(found, key, from, till)
  -- Behind a score below all others there is nothing; till -1 would mean the whole level.
  if till < from then return end
  for _, part in ipairs(redis.call('ZRANGE', key, from, till, 'WITHSCORES')) do found[#found + 1] = part end
end

local function least_first(key, score, member)
  local found = {}
  local from = 0
  if member ~= '' then
    from = redis.call('ZCOUNT', key, '-inf', '(' .. score)
    from = place_behind(key, from, from + redis.call('ZCOUNT', key, score, score), member)
  end
  add(found, key, from, from + limit - 1)
  return found
end

local function best_first(key, score, member)
  local found = {}
  if member == '' then
    score = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]
    if not score then return found end
  end
  while true do
    local first = redis.call('ZCOUNT', key, '-inf', '(' .. score)
    local till = first + redis.call('ZCOUNT', key, score, score)
    local from = first
    if member ~= '' then from = place_behind(key, first, till, member) end
    member = ''
    add(found, key, from, math.min(till, from + limit - #found / 2) - 1)
    if #found / 2 >= limit or first == 0 then return found end
    score = redis.call('ZRANGE', key, first - 1, first - 1, 'WITHSCORES')[2]
  end
end

local answer = {}
for level = 1, #KEYS do
  local slice = ARGV[1] == 'best' and best_first or least_first
  answer[level] = slice(KEYS[level], ARGV[1 + 2 * level], ARGV[2 + 2 * level])
end
return answer
