-- entomb adds the line that a thread was erased to its chain, unless that was done,
-- or the chain has another end by now.
-- THREAD, the end of the chain before and after the line, the line.
local thread = ARGV[1]
if redis.call('HEXISTS', tag .. ':tombs', thread) == 0 then return 0 end
if redis.call('HGET', tag .. ':heads', thread) ~= ARGV[2] then return 0 end
redis.call('XADD', tag .. ':audit', '*', 'line', ARGV[4])
redis.call('HSET', tag .. ':heads', thread, ARGV[3])
redis.call('HDEL', tag .. ':tombs', thread)
return 1
