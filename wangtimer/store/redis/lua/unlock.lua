-- Delete a slice's lock, if it is still mine.
-- KEYS[1] lock  string, the token of the trigger that owns the slice
-- ARGV    token
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
