-- Read definitions, until they have so many bytes.
-- KEYS[1] told, KEYS[2] signing, then definitions: strings, but signing is a hash with its mark in the field ""
-- ARGV[1] most bytes of definitions; the first is read however large it is
-- Returns told, the mark of signing, then the first definitions, as many as fit; nil for one that is not there.
local found = {redis.call('GET', KEYS[1]), redis.call('HGET', KEYS[2], '')}
local bytes = 0
for first = 3, #KEYS, 50 do
  -- One command for each would be the largest part of the commands of a firing.
  for i, text in ipairs(redis.call('MGET', unpack(KEYS, first, math.min(first + 49, #KEYS)))) do
    if text then bytes = bytes + #text end
    if bytes > tonumber(ARGV[1]) and first + i > 4 then return found end
    found[first + i - 1] = text
  end
end
return found
