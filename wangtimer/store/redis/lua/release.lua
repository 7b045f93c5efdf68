-- Let go of running members whose outcome is recorded, or that stand elsewhere.
-- KEYS[1] running  zset member -> end of its lease, ms
-- KEYS[2] owner    hash member -> id of the claim that runs it
-- KEYS[3] suspect  set of members to verify in SQL before they are sent
-- KEYS[4] deaths   hash member -> how many executors died on it; member:apart -> how many if its executor dies in the trial apart
-- ARGV    claim id; then member ...  (at most a chunk of them)
local claim, mine = ARGV[1], {}
local owners = redis.call('HMGET', KEYS[2], unpack(ARGV, 2))
for i, owner in ipairs(owners) do
  if owner == claim then mine[#mine + 1] = ARGV[i + 1] end
end
if #mine == 0 then return 0 end
redis.call('ZREM', KEYS[1], unpack(mine))
redis.call('HDEL', KEYS[2], unpack(mine))
redis.call('SREM', KEYS[3], unpack(mine))
if redis.call('EXISTS', KEYS[4]) == 1 then
  for _, member in ipairs(mine) do redis.call('HDEL', KEYS[4], member, member .. ':apart') end
end
return #mine
