-- Begin to feed a lane from SQL.
-- KEYS[1] rest  hash: SQL alone holds what is due from `until` on; `feeder` is who feeds the lane, `low` is when the first
--         firing was due that was left out since that feeder began
-- ARGV    the feeder's token, expiry s
-- Returns `until`, ms; "" where the lane holds all that waits.
local since = redis.call('HGET', KEYS[1], 'until')
if not since then return '' end
redis.call('HSET', KEYS[1], 'feeder', ARGV[1])
redis.call('HDEL', KEYS[1], 'low')
redis.call('EXPIREAT', KEYS[1], ARGV[2])
return since
