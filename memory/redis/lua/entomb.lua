-- entomb adds the line that a thread was erased to its chain, unless that was done,
-- or the chain has another end by now.
-- The name of the chain, its end before and after the line, the line.
local chain = ARGV[1]
if redis.call('HEXISTS', tag .. ':tombs', chain) == 0 then return 0 end
if redis.call('HGET', tag .. ':heads', chain) ~= ARGV[2] then return 0 end
redis.call('XADD', tag .. ':audit', '*', 'line', ARGV[4])
redis.call('HSET', tag .. ':heads', chain, ARGV[3])
redis.call('HDEL', tag .. ':tombs', chain)
return 1
