-- One turn of the trigger that owns a slice: renew its lock, take back what ran out, arm what comes due.
-- KEYS[1] due      zset member -> its moment, ms
-- KEYS[2] armed    zset member -> end of its lease, ms
-- KEYS[3] running  zset member -> end of its lease, ms
-- KEYS[4] owner    hash member -> id of the claim that runs it
-- KEYS[5] suspect  set of members to verify in SQL before they are sent
-- KEYS[6] deaths   hash member -> how many executors died on it: up to 2 while it ran with others; member:apart -> how
--                  many once a lease runs out while it is tried apart
-- KEYS[7] lock     string, the token of the trigger that owns the slice
-- ARGV    now ms, token, lock ms, lead ms, credit, end of an armed lease ms, leases that ended by this ms are taken back
--         ("" for none), expiry s,
--         how late is backlog ms, one in how many armed is backlog, one in how many of the credit is no crowd's,
--         of a backlog a multiple of how many is armed, how many of it are armed whatever runs,
--         "1" to tell what stands armed already as well
-- Returns nothing when another trigger owns the slice, else
-- {1 if the lock was free, next moment or "", due, armed, running, {member, moment, ...} armed by this turn}; told with
-- them, what stood armed already has its first moment, or now where it is a retry, and is suspect: SQL knows its moment.
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
-- What is yet to come goes first, so that a backlog does not make it late; the backlog has its share all the same. What
-- runs takes credit from the backlog alone: executors are to have room for what comes. It goes in full chunks, but for
-- its end: small ones are what costs.
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
  -- A crowd. A part of the credit is kept for what comes due after it, so that a burst does not hold that up.
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
