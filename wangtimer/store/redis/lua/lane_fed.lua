-- End feeding a lane, unless another feeder has begun: the lane holds the firings due before a moment.
-- KEYS[1] rest  hash: SQL alone holds the firings due from `until` on; `feeder` is the feeder's token; `low` is the
--         earliest due moment left out since that feeder began
-- ARGV    the feeder's token, the moment, ms, or "" if the feeder saw the last waiting firing
if redis.call('HGET', KEYS[1], 'feeder') ~= ARGV[1] then return 0 end
local since, low = tonumber(ARGV[2]), tonumber(redis.call('HGET', KEYS[1], 'low'))
if low and (not since or low < since) then since = low end
if not since then return redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], 'until', string.format('%d', since))
redis.call('HDEL', KEYS[1], 'feeder', 'low')
return 1
