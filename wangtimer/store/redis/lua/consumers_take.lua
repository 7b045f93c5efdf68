-- Takes entries from the front of a group's list; those whose time is over are dropped.
-- KEYS: 1 the list · 2 hash of bytes · 3 zset of groups by their last end (consumers_put.lua)
-- ARGV: 1 group · 2 app ("app/") · 3 most entries · 4 most bytes: the first entry goes whatever its size · 5 now (ms UTC)
-- Answer: the entries
local list, sizes, ends = KEYS[1], KEYS[2], KEYS[3]
local group, app, most, most_bytes, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local taken, bytes, freed = {}, 0, 0
for _ = 1, 1000 do
  if #taken >= most or (#taken > 0 and bytes >= most_bytes) then break end
  local head = redis.call('LPOP', list)
  if not head then break end
  freed = freed + #head
  if tonumber(string.match(head, '^%d+')) > now then
    taken[#taken + 1] = head
    bytes = bytes + #head
  end
end
if freed > 0 then
  for _, of in ipairs({group, app, ''}) do
    if redis.call('HINCRBY', sizes, of, -freed) <= 0 then redis.call('HDEL', sizes, of) end
  end
end
if redis.call('EXISTS', list) == 0 then redis.call('ZREM', ends, group) end
return taken
