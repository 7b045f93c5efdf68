-- Write a timer's definition, if it is newer than what is there; either way it lives on.
-- KEYS[1] definition  string "version text"
-- ARGV    version, "version text", seconds to live
local held = redis.call('GET', KEYS[1])
if held and tonumber(string.match(held, '^%d+')) >= tonumber(ARGV[1]) then
  redis.call('EXPIRE', KEYS[1], ARGV[3])
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1
