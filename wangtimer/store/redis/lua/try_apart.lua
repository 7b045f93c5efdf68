-- Note that members are now tried apart from the others: if their leases run out, so many executors have died on them.
-- KEYS[1] owner   hash member -> id of the claim that runs it
-- KEYS[2] deaths  hash member -> how many executors died on it; member:apart -> how many if its executor dies in this trial
-- ARGV    claim id, expiry s, deaths then; then member ...
-- Returns for each member: 1 if it is mine.
local mine = {}
for i = 4, #ARGV do
  local is_mine = redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[1]
  if is_mine then redis.call('HSET', KEYS[2], ARGV[i] .. ':apart', ARGV[3]) end
  mine[i - 3] = is_mine and 1 or 0
end
redis.call('EXPIREAT', KEYS[2], ARGV[2])
return mine
