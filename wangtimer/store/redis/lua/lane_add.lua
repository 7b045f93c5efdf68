-- Put members into a lane, where they wait for room; a member that the lane already holds stays as it is.
-- KEYS[1] due      zset member -> its moment, ms
-- KEYS[2] running  zset member -> end of its lease, ms
-- KEYS[3] suspect  set of members to verify in SQL before they are sent: all that wait
-- KEYS[4] rest     hash: SQL alone holds the firings due from `until` on; `low` is the earliest due moment left out
--         since a feeder began; until `held` processes that still hold some of them can renew
-- ARGV    now ms, running lease ms, "1" if this is a repair, expiry s, how many may wait, "1" if this feeds the lane;
--         then member, moment ... (at most a chunk of them, each once)
-- A repair lets late members wait one running lease from now, so that a process that still holds them can renew first.
-- Members from a feeder were in SQL alone: they wait only if a repair left them out less than a lease ago, say after a
-- loss.
-- Members without room are left out, and so are those due after members that were left out.
-- Returns how many wait.
local now, lease, repair, feeds = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1', ARGV[6] == '1'
local room = tonumber(ARGV[5]) - redis.call('ZCARD', KEYS[1])
local since = tonumber(redis.call('HGET', KEYS[4], 'until'))
local held = feeds and tonumber(redis.call('HGET', KEYS[4], 'held') or 0) or now + lease
local members, moments, left = {}, {}, nil
for i = 7, #ARGV, 2 do
  members[#members + 1] = ARGV[i]
  moments[#moments + 1] = tonumber(ARGV[i + 1])
end
local run, wait = redis.call('ZMSCORE', KEYS[2], unpack(members)), redis.call('ZMSCORE', KEYS[1], unpack(members))
local added, suspects = {}, {}
for i, member in ipairs(members) do
  local moment = moments[i]
  if not run[i] and not wait[i] then
    if room <= 0 or (since and moment >= since and not feeds) then
      left = math.min(left or moment, moment)
    else
      if repair and moment <= now and held > now then moment = held end
      added[#added + 1] = moment
      added[#added + 1] = member
      suspects[#suspects + 1] = member
      room = room - 1
    end
  end
end
if #suspects > 0 then
  redis.call('ZADD', KEYS[1], unpack(added))
  redis.call('SADD', KEYS[3], unpack(suspects))
end
if left then
  if not since or (repair and left < since) then
    redis.call('HSET', KEYS[4], 'held', string.format('%d', now + lease))
  end
  local low = tonumber(redis.call('HGET', KEYS[4], 'low'))
  redis.call('HSET', KEYS[4], 'until', string.format('%d', math.min(since or left, left)))
  redis.call('HSET', KEYS[4], 'low', string.format('%d', math.min(low or left, left)))
end
redis.call('EXPIREAT', KEYS[1], ARGV[4])
redis.call('EXPIREAT', KEYS[3], ARGV[4])
redis.call('EXPIREAT', KEYS[4], ARGV[4])
return redis.call('ZCARD', KEYS[1])
