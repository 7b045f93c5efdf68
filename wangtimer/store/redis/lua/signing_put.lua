-- Write how an app's callbacks are signed, unless a newer version is there. A change gives the hash another mark.
-- Of equal versions the later one counts: the first may be of a commit that SQL has lost.
-- KEYS[1] signing  hash app -> "version text"; the field "" holds the mark
-- ARGV    app, version, "version text", a mark that no other write has
-- Returns 1 where it was written, 0 where nothing changed.
local held = redis.call('HGET', KEYS[1], ARGV[1])
if held and (held == ARGV[3] or tonumber(string.match(held, '^%d+')) > tonumber(ARGV[2])) then
  return 0
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3], '', ARGV[4])
return 1
