-- Renew the leases of running members that are still this claim's; a late renewal shortens no lease.
-- KEYS[1] running  zset member -> end of its lease, ms
-- KEYS[2] owner    hash member -> id of the claim that runs it
-- ARGV    now ms, running lease ms, claim id; then member ...
-- Returns for each member 1 if it is mine.
local lease_end, claim = tonumber(ARGV[1]) + tonumber(ARGV[2]), ARGV[3]
local answers = {}
for i = 4, #ARGV do
  if redis.call('HGET', KEYS[2], ARGV[i]) == claim then
    redis.call('ZADD', KEYS[1], 'XX', 'GT', lease_end, ARGV[i])
    answers[#answers + 1] = 1
  else
    answers[#answers + 1] = 0
  end
end
return answers
