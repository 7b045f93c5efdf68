-- Mark a minute, or its part before a moment, as fed, unless Redis was lost, or another feeder or a later look began meanwhile.
-- KEYS[1] fed      string, the last minute of which Redis holds what SQL holds
-- KEYS[2] feeding  string "minute:token:number", the minute being fed, by whom, and the number of the look that found it
-- KEYS[3] load     hash minute -> firings planned into it
-- KEYS[4] part     string, ms: in the minute after `fed`, Redis holds the firings due before this
-- ARGV    "minute:token:number", minute, firings it has, ms before which all is fed
-- Returns 1 if it was marked.
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
local minute = tonumber(ARGV[2])
if tonumber(ARGV[4]) < (minute + 1) * 60000 then
  redis.call('SET', KEYS[4], ARGV[4])
else
  redis.call('SET', KEYS[1], math.max(tonumber(redis.call('GET', KEYS[1]) or -1), minute))
  redis.call('DEL', KEYS[4])
end
if tonumber(redis.call('HGET', KEYS[3], ARGV[2]) or 0) < tonumber(ARGV[3]) then
  redis.call('HSET', KEYS[3], ARGV[2], ARGV[3])
end
return 1
