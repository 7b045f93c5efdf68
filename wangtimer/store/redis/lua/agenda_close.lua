-- Last step of closing a slice: note its next need, or strike it out. If somebody added meanwhile, note it only if sooner.
-- KEYS[1] agenda   zset slice -> when it next needs a trigger, ms
-- KEYS[2] closing  hash slice -> token of the trigger that is closing it
-- ARGV    slice, token, next need ms or "" when the slice is empty
-- Returns 1 if the mark was still mine.
local mine = redis.call('HGET', KEYS[2], ARGV[1]) == ARGV[2]
if mine then
  redis.call('HDEL', KEYS[2], ARGV[1])
  if ARGV[3] == '' then
    redis.call('ZREM', KEYS[1], ARGV[1])
  else
    redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
  end
elseif ARGV[3] ~= '' then
  redis.call('ZADD', KEYS[1], 'LT', ARGV[3], ARGV[1])
end
return mine and 1 or 0
