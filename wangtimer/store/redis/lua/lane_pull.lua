-- Take from a lane what one process can send at once; leases that ran out come back first.
-- KEYS[1] due      zset member -> its moment, ms
-- KEYS[2] running  zset member -> end of its lease, ms
-- KEYS[3] owner    hash member -> id of the claim that runs it
-- KEYS[4] suspect  set of members to verify in SQL before they are sent
-- KEYS[5] deaths   hash member -> how many executors died on it; member:apart -> how many if its executor dies in the trial apart
-- KEYS[6] rest     hash, exists while SQL alone holds more firings of this lane; `asked` is when a caller was last told
--         to get the lane fed, ms
-- ARGV    now ms, claim id, end of a running lease ms, expiry s, how many to take at most,
--         leases that ended by this ms are taken back ("" for none),
--         "1" if this claim's answer was lost: the members it took are then told again,
--         the lane is to be fed when at most so many wait
-- Returns {moment of the next or "", how many wait, how many run, {member, moment, deaths, ...} taken, rest}; rest is 0,
--         1 if SQL holds a rest, or 2 if the caller is to get it fed as well (one caller a second).
local due, running, owner, suspect, deaths = unpack(KEYS)
local now, claim, lease_end, most = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[5])
local taken = {}

local function tell(member, moment)
  taken[#taken + 1] = member
  taken[#taken + 1] = moment
  taken[#taken + 1] = redis.call('HGET', deaths, member) or '0'
end

if ARGV[6] ~= '' then
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', running, '-inf', ARGV[6], 'LIMIT', 0, 2000)) do
    local fire_at, attempt = string.match(member, '^%d+:(%d+):(%d+)$')
    redis.call('ZREM', running, member)
    redis.call('HDEL', owner, member)
    redis.call('ZADD', due, attempt == '1' and fire_at or now, member)
    redis.call('SADD', suspect, member)
    local died, apart = unpack(redis.call('HMGET', deaths, member, member .. ':apart'))
    if apart then
      redis.call('HSET', deaths, member, apart)
      redis.call('HDEL', deaths, member .. ':apart')
    elseif tonumber(died or 0) < 2 then -- the quarantine's ALONE_AFTER
      redis.call('HINCRBY', deaths, member, 1)
    end
  end
end

if ARGV[7] == '1' then
  for _, member in ipairs(redis.call('ZRANGE', running, 0, -1)) do
    if redis.call('HGET', owner, member) == claim then tell(member, ARGV[1]) end
  end
  most = most - #taken / 3
end

if most > 0 then
  local first = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #first, 2 do
    redis.call('ZREM', due, first[i])
    redis.call('ZADD', running, lease_end, first[i])
    redis.call('HSET', owner, first[i], claim)
    tell(first[i], first[i + 1])
  end
end

for _, key in ipairs(KEYS) do redis.call('EXPIREAT', key, ARGV[4]) end
local next = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
local waiting, rest = redis.call('ZCARD', due), redis.call('EXISTS', KEYS[6])
if rest == 1 and waiting <= tonumber(ARGV[8])
  and math.abs(now - tonumber(redis.call('HGET', KEYS[6], 'asked') or 0)) >= 1000 then
  redis.call('HSET', KEYS[6], 'asked', string.format('%d', now))
  rest = 2
end
return {next[2] or '', waiting, redis.call('ZCARD', running), taken, rest}
