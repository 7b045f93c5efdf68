-- Adds an entry to a group's list, and tells who listens that the list is no longer empty.
-- KEYS: 1 the list · 2 hash of bytes: of each group, of each app ("app/"), and of all ("") · 3 zset of groups by the
--       moment at which the last of their entries ends (ms UTC)
-- ARGV: 1 group ("app/name") · 2 app ("app/") · 3 entry, which begins with the moment at which it ends · 4 that moment ·
--       5 now (ms UTC) · 6 most entries of a group · 7 most bytes of an app · 8 most bytes of all · 9 what the keys of
--       lists begin with · 10 channel
-- Answer: "" or what is full: "group", "app", "all"
local list, sizes, ends = KEYS[1], KEYS[2], KEYS[3]
local group, app, entry, now = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[5])
local function count(of_group, of_app, bytes)
  redis.call('HINCRBY', sizes, of_group, bytes)
  redis.call('HINCRBY', sizes, of_app, bytes)
  redis.call('HINCRBY', sizes, '', bytes)
end
local function forget(over)
  local of_app = string.match(over, '^.*/')
  count(over, of_app, -tonumber(redis.call('HGET', sizes, over) or '0'))
  redis.call('HDEL', sizes, over)
  if tonumber(redis.call('HGET', sizes, of_app)) == 0 then redis.call('HDEL', sizes, of_app) end
  redis.call('DEL', ARGV[9] .. over)
  redis.call('ZREM', ends, over)
end
for _, over in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, 5)) do forget(over) end
for _ = 1, 20 do
  local head = redis.call('LINDEX', list, 0)
  if not head or tonumber(string.match(head, '^%d+')) > now then break end
  redis.call('LPOP', list)
  count(group, app, -#head)
end
local function room(of, most) return tonumber(redis.call('HGET', sizes, of) or '0') + #entry <= tonumber(most) end
if redis.call('LLEN', list) >= tonumber(ARGV[6]) then return 'group' end
if not room(app, ARGV[7]) then return 'app' end
if not room('', ARGV[8]) then return 'all' end
local length = redis.call('RPUSH', list, entry)
count(group, app, #entry)
local last = redis.call('ZSCORE', ends, group)
if not last or tonumber(last) < tonumber(ARGV[4]) then redis.call('ZADD', ends, ARGV[4], group) end
if length == 1 then redis.call('PUBLISH', ARGV[10], group) end
return ''
