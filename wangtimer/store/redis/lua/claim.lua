-- Take armed members to run them; repeatable by its claim id.
-- KEYS[1] armed    zset member -> end of its lease, ms
-- KEYS[2] running  zset member -> end of its lease, ms
-- KEYS[3] owner    hash member -> id of the claim that runs it
-- KEYS[4] suspect  set of members to verify in SQL before they are sent
-- KEYS[5] deaths   hash member -> how often its lease ran out while it ran; 3 once it was then tried alone
-- ARGV    now ms, claim id, running lease ms, expiry s; then member ...
-- Returns for each member: 0 not to be had, else 1, plus 1 if it is suspect, plus 2 for each death.
local claim, lease_end = ARGV[2], tonumber(ARGV[1]) + tonumber(ARGV[3])
local any_suspect = redis.call('EXISTS', KEYS[4]) == 1
local any_dead = redis.call('EXISTS', KEYS[5]) == 1
local answers = {}
for i = 5, #ARGV do
  local member, answer = ARGV[i], 0
  if redis.call('ZREM', KEYS[1], member) == 1 then
    redis.call('ZADD', KEYS[2], lease_end, member)
    redis.call('HSET', KEYS[3], member, claim)
    answer = 1
  elseif redis.call('HGET', KEYS[3], member) == claim then
    answer = 1
  end
  if answer == 1 then
    if any_suspect then answer = answer + redis.call('SISMEMBER', KEYS[4], member) end
    if any_dead then answer = answer + 2 * tonumber(redis.call('HGET', KEYS[5], member) or 0) end
  end
  answers[#answers + 1] = answer
end
redis.call('EXPIREAT', KEYS[2], ARGV[4])
redis.call('EXPIREAT', KEYS[3], ARGV[4])
return answers
