-- Note when slices next need a trigger, if that is sooner than noted; a trigger that is closing one must look again.
-- KEYS[1] agenda   zset slice -> when it next needs a trigger, ms
-- KEYS[2] closing  hash slice -> token of the trigger that is closing it
-- ARGV    slice, moment ...
for i = 1, #ARGV, 2 do
  redis.call('ZADD', KEYS[1], 'LT', ARGV[i + 1], ARGV[i])
  redis.call('HDEL', KEYS[2], ARGV[i])
end
return 1
