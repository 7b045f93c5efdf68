-- Tally a page of what waits in a slice.
-- KEYS[1] due  zset member -> its moment, ms
-- ARGV    ranks of the first and the last of the page, the modulus of the timers' ids: with it the sums of a page of
--         2,000 are exact, as sums of whole ids of 53 bits would not be
-- Returns {number, sum of the timers' ids, sum of the moments}, the sums as text.
local page = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[2], 'WITHSCORES')
local ids, moments, modulus = 0, 0, tonumber(ARGV[3])
for i = 1, #page, 2 do
  ids = ids + tonumber(string.match(page[i], '^%d+')) % modulus
  moments = moments + page[i + 1]
end
return {#page / 2, string.format('%.0f', ids), string.format('%.0f', moments)}
