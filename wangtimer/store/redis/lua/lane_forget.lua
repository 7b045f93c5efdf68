-- Strike a lane that was found empty out of the index, unless something was added to it since.
-- KEYS[1] lanes  hash lane -> token of the last add
-- ARGV    lane, the token read before it was found empty
if redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[2] then return redis.call('HDEL', KEYS[1], ARGV[1]) end
return 0
