-- Take back permits of a limit, then give as many as it leaves now.
-- KEYS[1] due      zset member -> its moment, ms: who waits in the limit's lane
-- KEYS[2] rest     hash, exists while SQL alone holds more firings of the lane
-- KEYS[3] permits  zset permit -> its end, ms: the calls under way, where the number at once is limited
-- KEYS[4] tokens   hash: `left` calls might begin as of `at`, ms
-- ARGV    now ms, end of new permits ms, permits that ended by this ms are over, calls at once and calls a second ("": no
--         limit), how many calls may begin together, expiry s, token, how many calls that have waited want a permit, how
--         many that have not, how many unused permits come back, latest end of any permit ms, how many permits are to be
--         prolonged to the end of new ones; then those, then the permits that come back
-- Who has not waited gets nothing while others wait in the lane. A permit is named by the token and a number from 0.
-- Returns {given to those that have waited, given to the others, ms until one more call a second may begin}.
local due, rest, permits, tokens = unpack(KEYS)
local now, ends, ended_by = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local at_once, per_s, burst = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local waited, fresh, unused = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])

local latest_end, prolonged = tonumber(ARGV[12]), tonumber(ARGV[13])

for i = 14 + prolonged, #ARGV do redis.call('ZREM', permits, ARGV[i]) end

local free = waited + fresh
if at_once then
  redis.call('ZREMRANGEBYSCORE', permits, '-inf', ended_by)
  -- Redis' clock was put back: a permit that nobody gives back would be held for so long.
  for _, permit in ipairs(redis.call('ZRANGEBYSCORE', permits, '(' .. (latest_end + 60000), '+inf', 'LIMIT', 0, 1000)) do
    redis.call('ZADD', permits, ends, permit)
  end
  for i = 14, 13 + prolonged do redis.call('ZADD', permits, ends, ARGV[i]) end
  free = math.max(0, math.min(free, at_once - redis.call('ZCARD', permits)))
end

local left, wait = 0, 0
if per_s then
  local read = redis.call('HMGET', tokens, 'left', 'at')
  local at = tonumber(read[2]) or now
  if at > now + 1000 then at = now end -- the clock was put back
  left = (tonumber(read[1]) or burst) + unused + math.max(0, now - at) * per_s / 1000
  left = math.min(left, burst)
  free = math.min(free, math.floor(left + 1e-9))
  redis.call('HSET', tokens, 'at', string.format('%d', math.max(at, now)))
end

local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
if (first and tonumber(first) <= now) or redis.call('EXISTS', rest) == 1 then fresh = 0 end
local to_waited = math.min(waited, free)
local to_fresh = math.min(fresh, free - to_waited)
local given = to_waited + to_fresh

if at_once then
  for i = 0, given - 1 do redis.call('ZADD', permits, ends, ARGV[8] .. ':' .. i) end
  redis.call('EXPIREAT', permits, ARGV[7])
end
if per_s then
  left = left - given
  redis.call('HSET', tokens, 'left', string.format('%.6f', left))
  -- Once the rate has stored up all it may, the hash says nothing: an app may call ever new hosts.
  local full_s = per_s > 0 and math.ceil(now / 1000 + burst / per_s) + 60 or tonumber(ARGV[7])
  redis.call('EXPIREAT', tokens, string.format('%d', full_s))
  if left < 1 then wait = per_s > 0 and math.ceil((1 - left) * 1000 / per_s - 1e-6) or 60000 end
end
return {to_waited, to_fresh, wait}
