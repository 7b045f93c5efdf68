-- Renew the lease of a minute that is being fed.
-- KEYS[1] feeding  string "minute:token:number", the minute being fed, by whom, and the number of the look that found it
-- KEYS[2] feeder   string "token:number", the one feeder and its latest look; expires unless kept
-- ARGV    "token:number", "minute:token:number", lease ms
-- A lease that ran out is taken again: if another feeder had come meanwhile, the minute would be that feeder's.
-- Returns 1 while the minute is this look's; 0 once another feeder or a later look has begun, or Redis was lost.
if redis.call('GET', KEYS[1]) ~= ARGV[2] then return 0 end
if (redis.call('GET', KEYS[2]) or ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3])
return 1
