-- Declare the horizon loaded, unless Redis was lost again or another load began meanwhile.
-- KEYS[1] epoch    string, there while Redis holds the horizon
-- KEYS[2] loading  string, the token of the load that may set it
-- ARGV    token
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[2])
return 1
