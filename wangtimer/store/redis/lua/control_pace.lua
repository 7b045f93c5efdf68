-- Takes the next moment at which an answer of an app may give a timer its next one.
-- KEYS[1] the last moment that was taken: string, µs since 1970
-- ARGV[1] now, µs
-- ARGV[2] µs between two
-- Returns the moment, µs.
local taken = tonumber(redis.call('GET', KEYS[1]) or 0) + tonumber(ARGV[2])
if taken <= tonumber(ARGV[1]) then taken = tonumber(ARGV[1]) + tonumber(ARGV[2]) end
redis.call('SET', KEYS[1], string.format('%.0f', taken))
redis.call('EXPIREAT', KEYS[1], math.floor(taken / 1000000) + 60)
return string.format('%.0f', taken)
