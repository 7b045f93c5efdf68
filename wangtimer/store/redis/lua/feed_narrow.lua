-- For a while, hold only the minutes that are always held; later minutes are fed again when their time comes.
-- KEYS[1] fed        string, the last minute of which Redis holds what SQL holds
-- KEYS[2] announced  string, the last minute whose firings adders put into Redis
-- KEYS[3] feeding    string, the minute being fed, and by whom
-- KEYS[4] part       string, ms: in the minute after `fed`, Redis holds the firings due before this
-- KEYS[5] narrow     string, exists for that while
-- ARGV    the last minute that is always held, ms
local least = tonumber(ARGV[1])
redis.call('SET', KEYS[5], 1, 'PX', ARGV[2])
if tonumber(redis.call('GET', KEYS[2]) or least) <= least then return end
redis.call('SET', KEYS[2], least)
redis.call('SET', KEYS[1], math.min(tonumber(redis.call('GET', KEYS[1]) or least), least))
redis.call('DEL', KEYS[3], KEYS[4])
