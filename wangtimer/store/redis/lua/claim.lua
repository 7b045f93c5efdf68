-- Take armed members to run them; repeatable by its claim id.
-- KEYS[1] armed    zset member -> end of its lease, ms
-- KEYS[2] running  zset member -> end of its lease, ms
-- KEYS[3] owner    hash member -> id of the claim that runs it
-- KEYS[4] suspect  set of members to verify in SQL before they are sent
-- KEYS[5] deaths   hash member -> how many executors died on it
-- ARGV    now ms, claim id, running lease ms, expiry s; then member ...  (at most a chunk of them)
-- Returns for each member: 0 if it was not taken, else 1, plus 1 if it is suspect, plus 2 for each death.
local armed, running, owner, suspect, deaths = unpack(KEYS)
local claim, lease_end = ARGV[2], tonumber(ARGV[1]) + tonumber(ARGV[3])
local ends, owners = redis.call('ZMSCORE', armed, unpack(ARGV, 5)), redis.call('HMGET', owner, unpack(ARGV, 5))
local taken, to_running, to_owner, answers = {}, {}, {}, {}
for i = 1, #ARGV - 4 do
  local member = ARGV[i + 4]
  if ends[i] then
    taken[#taken + 1] = member
    to_running[#to_running + 1] = lease_end
    to_running[#to_running + 1] = member
    to_owner[#to_owner + 1] = member
    to_owner[#to_owner + 1] = claim
  end
  answers[i] = (ends[i] or owners[i] == claim) and 1 or 0
end
if #taken > 0 then
  redis.call('ZREM', armed, unpack(taken))
  redis.call('ZADD', running, unpack(to_running))
  redis.call('HSET', owner, unpack(to_owner))
end

local any_suspect, any_dead = redis.call('EXISTS', suspect) == 1, redis.call('EXISTS', deaths) == 1
if any_suspect or any_dead then
  for i, answer in ipairs(answers) do
    local member = ARGV[i + 4]
    if answer == 1 and any_suspect then answer = answer + redis.call('SISMEMBER', suspect, member) end
    if answer > 0 and any_dead then answer = answer + 2 * tonumber(redis.call('HGET', deaths, member) or 0) end
    answers[i] = answer
  end
end
redis.call('EXPIREAT', running, ARGV[4])
redis.call('EXPIREAT', owner, ARGV[4])
return answers
