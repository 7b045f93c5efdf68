-- First step of closing a slice: put it off, and leave a mark that every adder clears.
-- KEYS[1] agenda   zset slice -> when it next needs a trigger, ms
-- KEYS[2] closing  hash slice -> token of the trigger that is closing it
-- ARGV    slice, token, moment
if redis.call('ZADD', KEYS[1], 'XX', 'CH', ARGV[3], ARGV[1]) == 1
  or redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
end
return 1
