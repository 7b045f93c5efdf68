-- Put members into a lane, where they wait for room; a member that stands in it already stays as it is.
-- KEYS[1] due      zset member -> its moment, ms
-- KEYS[2] running  zset member -> end of its lease, ms
-- KEYS[3] suspect  set of members to verify in SQL before they are sent: all that wait
-- ARGV    now ms, running lease ms, "1" if this is a repair, expiry s; then member, moment ...
-- A repair lets what is late wait one running lease from now, so that whoever still holds it can renew first.
local now, lease, repair = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1'
for i = 5, #ARGV, 2 do
  local member, moment = ARGV[i], tonumber(ARGV[i + 1])
  if not redis.call('ZSCORE', KEYS[2], member) and not redis.call('ZSCORE', KEYS[1], member) then
    if repair and moment <= now then moment = now + lease end
    redis.call('ZADD', KEYS[1], moment, member)
    redis.call('SADD', KEYS[3], member)
  end
end
redis.call('EXPIREAT', KEYS[1], ARGV[4])
redis.call('EXPIREAT', KEYS[3], ARGV[4])
return 1
