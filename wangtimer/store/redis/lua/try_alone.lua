-- Note that a member is now tried alone, after its lease ran out twice while it ran: a third time is its last.
-- KEYS[1] owner   hash member -> id of the claim that runs it
-- KEYS[2] deaths  hash member -> how often its lease ran out while it ran; 3 once it was then tried alone
-- ARGV    claim id, member, expiry s
-- Returns 1 if the member is mine.
if redis.call('HGET', KEYS[1], ARGV[2]) ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[2], ARGV[2], 3)
redis.call('EXPIREAT', KEYS[2], ARGV[3])
return 1
