-- Put members that are due at once straight into `armed`; one that is armed or runs already stays as it is.
-- A member in `due` was put there by a repair after its commit: it is armed too.
-- KEYS[1] due      zset member -> its moment, ms
-- KEYS[2] armed    zset member -> end of its lease, ms
-- KEYS[3] running  zset member -> end of its lease, ms
-- KEYS[4] suspect  set of members to verify in SQL before they are sent
-- ARGV    now ms, armed lease ms, expiry s; then member, moment ...
-- Returns for each member 1 if it was armed here.
-- A member whose moment has come, by the caller's clock or this server's, may have been sent already.
local now, lease = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local latest = math.max(now, time[1] * 1000 + time[2] / 1000)
local armed = {}
for i = 4, #ARGV, 2 do
  local member, moment = ARGV[i], tonumber(ARGV[i + 1])
  if redis.call('ZSCORE', KEYS[2], member) or redis.call('ZSCORE', KEYS[3], member) then
    armed[#armed + 1] = 0
  else
    redis.call('ZREM', KEYS[1], member)
    redis.call('ZADD', KEYS[2], now + lease, member)
    if moment <= latest then redis.call('SADD', KEYS[4], member) end
    armed[#armed + 1] = 1
  end
end
redis.call('EXPIREAT', KEYS[2], ARGV[3])
redis.call('EXPIREAT', KEYS[4], ARGV[3])
return armed
