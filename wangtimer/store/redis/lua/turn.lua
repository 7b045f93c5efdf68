-- One turn of the trigger that owns a slice: renew its lock, take back members whose leases ran out, arm due members.
-- KEYS[1] due      zset member -> its moment, ms
-- KEYS[2] armed    zset member -> end of its lease, ms
-- KEYS[3] running  zset member -> end of its lease, ms
-- KEYS[4] owner    hash member -> id of the claim that runs it
-- KEYS[5] suspect  set of members to verify in SQL before they are sent
-- KEYS[6] deaths   hash member -> how many executors died on it: up to 2 while it ran with others; member:apart -> how
--                  many if its executor dies in the trial apart
-- KEYS[7] lock     string, the token of the trigger that owns the slice
-- ARGV    now ms, token, lock ms, lead ms, credit, end of an armed lease ms, leases that ended by this ms are taken back
--         ("" for none), expiry s,
--         members later than this ms are backlog,
--         backlog share: 1 in so many armed members is kept for backlog,
--         crowd share: 1 in so many of the credit is kept from a crowd,
--         backlog multiple: a backlog is armed in multiples of this, or whole,
--         backlog minimum: so many of a backlog may be armed whatever runs,
--         "1" to return the members that stood armed before as well
-- Returns nothing when another trigger owns the slice, else
-- {1 if the lock was free, next moment or "", due, armed, running, {member, moment, ...} armed by this turn}.
-- A member that stood armed before is returned with its first moment, or now if it is a retry, and marked suspect: SQL
-- knows its moment.
local due, armed, running, owner, suspect, deaths, lock = unpack(KEYS)
local now, lead, credit = tonumber(ARGV[1]), tonumber(ARGV[4]), tonumber(ARGV[5])
local holder = redis.call('GET', lock)
if holder and holder ~= ARGV[2] then return false end
redis.call('SET', lock, ARGV[2], 'PX', ARGV[3])

local function take_back(held)
  local ran_out = redis.call('ZRANGEBYSCORE', held, '-inf', ARGV[7], 'LIMIT', 0, 2000)
  for _, member in ipairs(ran_out) do
    local fire_at, attempt = string.match(member, '^%d+:(%d+):(%d+)$')
    redis.call('ZREM', held, member)
    redis.call('HDEL', owner, member)
    redis.call('ZADD', due, attempt == '1' and fire_at or now, member)
    redis.call('SADD', suspect, member)
    if held == running then
      local died, apart = unpack(redis.call('HMGET', deaths, member, member .. ':apart'))
      if apart then
        redis.call('HSET', deaths, member, apart)
        redis.call('HDEL', deaths, member .. ':apart')
      elseif tonumber(died or 0) < 2 then -- the quarantine's ALONE_AFTER
        redis.call('HINCRBY', deaths, member, 1)
      end
    end
  end
  if #ran_out > 0 then
    for _, key in ipairs({due, suspect, deaths}) do redis.call('EXPIREAT', key, ARGV[8]) end
  end
end
if ARGV[7] ~= '' then
  take_back(armed)
  take_back(running)
end

local free = credit - redis.call('ZCARD', armed)
local room = math.min(free, 5000)
local function first_between(lowest, highest, most)
  if most <= 0 then return {} end
  return redis.call('ZRANGEBYSCORE', due, lowest, highest, 'WITHSCORES', 'LIMIT', 0, most)
end
-- Members yet to come go first, so that a backlog does not make them late; the backlog has its share all the same.
-- Running members take credit from the backlog alone: executors must have room for members yet to come. The backlog goes
-- in full chunks, except its end: small chunks are costly.
local late = now - tonumber(ARGV[9])
local backlog = redis.call('ZCOUNT', due, '-inf', '(' .. late)
local for_backlog = free - redis.call('ZCARD', running)
if for_backlog < backlog then for_backlog = for_backlog - for_backlog % tonumber(ARGV[12]) end
for_backlog = math.min(room, math.max(for_backlog, tonumber(ARGV[13])))
local share = math.min(backlog, math.ceil(room / tonumber(ARGV[10])), for_backlog)
local on_time = room - math.max(share, 0)
local taken
local function take_more(lowest, highest, most)
  for _, text in ipairs(first_between(lowest, highest, most)) do taken[#taken + 1] = text end
end
if on_time <= 0 then
  taken = {}
elseif redis.call('ZCOUNT', due, late, now + lead) <= on_time then
  taken = first_between(late, now + lead, on_time)
else
  -- A crowd. A part of the credit is kept for members due after it, so that the crowd does not hold them up.
  taken = first_between(late, now + lead, math.min(on_time, free - math.floor(credit / tonumber(ARGV[11]))))
  local crowd_at = taken[#taken] or first_between(late, now + lead, 1)[2]
  take_more('(' .. crowd_at, now + lead, on_time - #taken / 2)
end
take_more('-inf', '(' .. late, math.min(room - #taken / 2, for_backlog))

if #taken > 0 then
  local lease_end, members, batch = ARGV[6], {}, {}
  for i = 1, #taken, 2 do
    members[#members + 1] = taken[i]
    batch[#batch + 1] = lease_end
    batch[#batch + 1] = taken[i]
    if #batch >= 1000 or i + 1 == #taken then
      redis.call('ZREM', due, unpack(members))
      redis.call('ZADD', armed, unpack(batch))
      members, batch = {}, {}
    end
  end
  redis.call('EXPIREAT', armed, ARGV[8])
end

if ARGV[14] == '1' then
  local is_told = {}
  for i = 1, #taken, 2 do is_told[taken[i]] = true end
  for _, member in ipairs(redis.call('ZRANGE', armed, 0, 4999)) do
    if not is_told[member] then
      local fire_at, attempt = string.match(member, '^%d+:(%d+):(%d+)$')
      redis.call('SADD', suspect, member)
      taken[#taken + 1] = member
      taken[#taken + 1] = attempt == '1' and fire_at or ARGV[1]
    end
  end
  redis.call('EXPIREAT', suspect, ARGV[8])
end

local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
return {
  holder and 0 or 1, first[2] or '', redis.call('ZCARD', due), redis.call('ZCARD', armed),
  redis.call('ZCARD', running), taken,
}
