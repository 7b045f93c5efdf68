-- Write a timer's definition, unless a newer one is there; either way its expiry is renewed.
-- Of equal versions the later one counts: the first may be of a commit that SQL has lost.
-- KEYS[1] definition  string "version text"
-- ARGV    version, "version text", seconds to live
local held = redis.call('GET', KEYS[1])
if held and (held == ARGV[2] or tonumber(string.match(held, '^%d+')) > tonumber(ARGV[1])) then
  redis.call('EXPIRE', KEYS[1], ARGV[3])
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1
