-- Take flushed outcomes out of the outbox, unless they were parked anew meanwhile.
-- KEYS[1] outbox  hash member -> outcome
-- ARGV    member, outcome ...
for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then redis.call('HDEL', KEYS[1], ARGV[i]) end
end
return 1
