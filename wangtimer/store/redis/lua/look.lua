-- When a slice next needs a trigger.
-- KEYS[1] due, KEYS[2] armed, KEYS[3] running: zset member -> moment or end of lease, ms
-- Returns {first of due or "", first of armed or "", first of running or ""}.
local firsts = {}
for i = 1, 3 do
  firsts[i] = redis.call('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES')[2] or ''
end
return firsts
