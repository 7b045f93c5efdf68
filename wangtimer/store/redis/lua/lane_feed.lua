-- Begin to feed a lane from SQL.
-- KEYS[1] rest  hash: SQL alone holds the firings due from `until` on; `feeder` is the feeder's token; `low` is the
--         earliest due moment left out since that feeder began
-- ARGV    the feeder's token, expiry s
-- Returns `until`, ms; "" if the lane holds all that waits.
local since = redis.call('HGET', KEYS[1], 'until')
if not since then return '' end
redis.call('HSET', KEYS[1], 'feeder', ARGV[1])
redis.call('HDEL', KEYS[1], 'low')
redis.call('EXPIREAT', KEYS[1], ARGV[2])
return since
