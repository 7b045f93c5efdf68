-- End feeding a lane, unless another feeder has begun: what was due up to a moment is there.
-- KEYS[1] rest  hash: SQL alone holds what is due from `until` on; `feeder` is who feeds the lane, `low` is when the first
--         firing was due that was left out since that feeder began
-- ARGV    the feeder's token, the moment, ms, or "" where the feeder saw the end of what waits
if redis.call('HGET', KEYS[1], 'feeder') ~= ARGV[1] then return 0 end
local since, low = tonumber(ARGV[2]), tonumber(redis.call('HGET', KEYS[1], 'low'))
if low and (not since or low < since) then since = low end
if not since then return redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], 'until', string.format('%d', since))
redis.call('HDEL', KEYS[1], 'feeder', 'low')
return 1
