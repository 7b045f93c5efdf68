-- Choose the next minute to feed, and announce it: from now on adders put its new firings here too.
-- KEYS[1] fed        string, the last minute of which Redis holds what SQL holds
-- KEYS[2] announced  string, the last minute whose firings adders put into Redis
-- KEYS[3] feeding    string "minute:token:number", the minute being fed, by whom, and the number of the look that found it
-- KEYS[4] feeder     string "token:number", the one feeder and its latest look; expires unless kept
-- KEYS[5] load       hash minute -> firings planned into it
-- KEYS[6] part       string, ms: in the minute after `fed`, Redis holds the firings due before this
-- KEYS[7] narrow     string, exists while only the minutes that are always held are to be held
-- ARGV    token, lease ms, the present minute, the last minute that is always held, the last that is ever held,
--         firings that fit, part ms, "1" to begin at the present minute again, the number of this look of the token.
--         Part ms: if the last minute that is always held does not fit, only its firings due before this are held.
-- Returns {what, minute, last, lost, since, until}; what is one of
--   "feed"   feed the firings of this minute due from since on and before until, ms
--   "full"   all that fits is fed: the lease is over
--   "other"  another feeder is at work, or a later look of this one
-- last is the last minute that fits; lost is 1 if the marks were gone.
local present, least, most, budget = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local token, number = ARGV[1], tonumber(ARGV[9])
local holder, feeding = redis.call('GET', KEYS[4]) or '', redis.call('GET', KEYS[3]) or ''
if holder ~= '' and string.match(holder, '^[^:]*') ~= token then return {'other', -1, -1, 0, 0, 0} end
for _, mark in ipairs({holder, feeding}) do
  local by, latest = string.match(mark, '([^:]*):(%d+)$')
  -- The caller gave this look up and has looked again since; this one would end that feeding.
  if by == token and tonumber(latest) > number then return {'other', -1, -1, 0, 0, 0} end
end
local me = string.format('%s:%d', token, number)
redis.call('SET', KEYS[4], me, 'PX', ARGV[2])
if redis.call('EXISTS', KEYS[7]) == 1 then most = least end

local load, gone = redis.call('HGETALL', KEYS[5]), {}
local planned = {}
for i = 1, #load, 2 do
  local minute = tonumber(load[i])
  if minute < present then gone[#gone + 1] = load[i] else planned[minute] = tonumber(load[i + 1]) end
end
for i = 1, #gone, 1000 do redis.call('HDEL', KEYS[5], unpack(gone, i, math.min(i + 999, #gone))) end

local last, held, least_fits = least, 0, true
for minute = present, most do
  held = held + (planned[minute] or 0)
  if minute == least then least_fits = held <= budget end
  if minute > least then
    if held > budget then break end
    last = minute
  end
end

local lost = redis.call('EXISTS', KEYS[1]) == 0
local fed = tonumber(redis.call('GET', KEYS[1]) or present - 1)
local announced = tonumber(redis.call('GET', KEYS[2]) or present - 1)
if ARGV[8] == '1' then
  fed = math.min(fed, present - 1)
  redis.call('DEL', KEYS[3], KEYS[6])
end
if announced > last then
  -- More firings came than fit: later minutes are fed again when their time comes.
  announced, fed = last, math.min(fed, last)
  redis.call('DEL', KEYS[3], KEYS[6])
end
local minute = math.max(fed + 1, present)
local since, ends = minute * 60000, (minute + 1) * 60000
local part, upto = tonumber(redis.call('GET', KEYS[6]) or 0), ends
if part > since and part < ends then since = part end
if minute == least and not least_fits then upto = math.min(ends, tonumber(ARGV[7])) end
local what = minute <= last and since < upto and 'feed' or 'full'
if what == 'feed' then
  announced = math.max(announced, minute)
  redis.call('SET', KEYS[3], string.format('%d:%s', minute, me))
end
redis.call('SET', KEYS[1], fed)
redis.call('SET', KEYS[2], announced)
-- Another feeder may come next.
if what == 'full' then redis.call('DEL', KEYS[4]) end
return {what, minute, last, lost and 1 or 0, since, upto}
