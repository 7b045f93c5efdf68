-- Puts entries back to the front of a group's list, in their order, and tells who listens.
-- KEYS: 1 the list · 2 hash of bytes · 3 zset of groups by their last end (consumers_put.lua)
-- ARGV: 1 group · 2 app ("app/") · 3 channel · then the entries, each of which begins with the moment at which it ends
-- Answer: how many
local list, sizes, ends = KEYS[1], KEYS[2], KEYS[3]
local group, bytes = ARGV[1], 0
local last = tonumber(redis.call('ZSCORE', ends, group) or '0')
for number = #ARGV, 4, -1 do
  local entry = ARGV[number]
  redis.call('LPUSH', list, entry)
  bytes = bytes + #entry
  last = math.max(last, tonumber(string.match(entry, '^%d+')))
end
for _, of in ipairs({group, ARGV[2], ''}) do redis.call('HINCRBY', sizes, of, bytes) end
redis.call('ZADD', ends, last, group)
redis.call('PUBLISH', ARGV[3], group)
return #ARGV - 3
