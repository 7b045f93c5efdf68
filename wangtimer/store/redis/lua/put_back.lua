-- Put running members back to wait until a moment; they are verified in SQL then.
-- KEYS[1] due      zset member -> its moment, ms
-- KEYS[2] running  zset member -> end of its lease, ms
-- KEYS[3] owner    hash member -> id of the claim that runs it
-- KEYS[4] suspect  set of members to verify in SQL before they are sent
-- KEYS[5] deaths   hash member -> how many executors died on it; member:apart -> how many if its executor dies in the trial apart
-- ARGV    claim id, expiry s; then member, moment ...
-- Returns how many were mine.
local mine = 0
for i = 3, #ARGV, 2 do
  local member = ARGV[i]
  if redis.call('HGET', KEYS[3], member) == ARGV[1] then
    redis.call('ZREM', KEYS[2], member)
    redis.call('HDEL', KEYS[3], member)
    redis.call('ZADD', KEYS[1], ARGV[i + 1], member)
    redis.call('SADD', KEYS[4], member)
    redis.call('HDEL', KEYS[5], member .. ':apart')
    mine = mine + 1
  end
end
redis.call('EXPIREAT', KEYS[1], ARGV[2])
redis.call('EXPIREAT', KEYS[4], ARGV[2])
return mine
