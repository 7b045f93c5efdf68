-- Begin to load the horizon again after Redis lost it, unless it is loaded.
-- KEYS[1] epoch    string, there while Redis holds the horizon
-- KEYS[2] loading  string, the token of the load that may set it
-- ARGV    token
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
return 1
