-- Put members into a slice; a member that the slice already holds stays as it is.
-- KEYS[1] due      zset member -> its moment, ms
-- KEYS[2] armed    zset member -> end of its lease, ms
-- KEYS[3] running  zset member -> end of its lease, ms
-- KEYS[4] suspect  set of members to verify in SQL before they are sent
-- ARGV    now ms, lead ms, running lease ms, "1" if this is a repair, expiry s; then member, moment ...
-- A member at most `lead` ahead of its moment may have been sent already: it is marked suspect. A repair lets it wait
-- one running lease more, so that a process that still holds it can renew first. The caller may have been held up since
-- it read its clock, so this server's clock counts too.
-- Returns when the slice next needs a trigger, ms.
local now, lead, lease, repair = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1'
local time = redis.call('TIME')
local near = math.max(now, time[1] * 1000 + time[2] / 1000) + lead
local idle = redis.call('EXISTS', KEYS[2], KEYS[3]) == 0
local batch = {}

local function flush()
  if #batch > 0 then redis.call('ZADD', KEYS[1], 'NX', unpack(batch)) end
  batch = {}
end

for i = 6, #ARGV, 2 do
  local member, moment = ARGV[i], tonumber(ARGV[i + 1])
  local held = not idle
    and (redis.call('ZSCORE', KEYS[2], member) or redis.call('ZSCORE', KEYS[3], member))
  if not held then
    if moment > near then
      batch[#batch + 1] = ARGV[i + 1]
      batch[#batch + 1] = member
      if #batch >= 1000 then flush() end
    elseif not redis.call('ZSCORE', KEYS[1], member) then
      redis.call('SADD', KEYS[4], member)
      redis.call('ZADD', KEYS[1], repair and moment + lease or moment, member)
    end
  end
end
flush()

local need = math.huge
for i, ahead in ipairs({lead, 0, 0}) do
  local first = redis.call('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES')[2]
  if first then need = math.min(need, first - ahead) end
end
redis.call('EXPIREAT', KEYS[1], ARGV[5])
redis.call('EXPIREAT', KEYS[4], ARGV[5])
return need
