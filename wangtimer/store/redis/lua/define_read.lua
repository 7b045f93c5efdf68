-- Read definitions, until they have so many bytes.
-- KEYS[1] told, then definitions: strings
-- ARGV[1] most bytes of definitions; the first is read however large it is
-- Returns told, then the first definitions, as many as fit; nil for one that is not there.
local found = {redis.call('GET', KEYS[1])}
local bytes = 0
for i = 2, #KEYS do
  local text = redis.call('GET', KEYS[i])
  if text then bytes = bytes + #text end
  if bytes > tonumber(ARGV[1]) and i > 2 then break end
  found[i] = text
end
return found
