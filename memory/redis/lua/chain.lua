-- chain leads a shard from format 2 to format 3: it puts the audit lines that were
-- written anew in the place of the old ones, unless another build wrote more
-- meanwhile.
-- Id of the last old line that was written anew (empty: there is none), then the
-- ends of the chains: thread, Seq and hash, thread, ...
-- Gives 1 when the shard has format 3 now.
if redis.call('GET', tag .. ':format') ~= '2' then return 1 end
local last = redis.call('XREVRANGE', tag .. ':audit', '+', '-', 'COUNT', 1)
if #last > 0 and last[1][1] ~= ARGV[1] then return 0 end
if #last > 0 then redis.call('RENAME', tag .. ':chained', tag .. ':audit') end
for i = 2, #ARGV, 2 do redis.call('HSET', tag .. ':heads', ARGV[i], ARGV[i + 1]) end
redis.call('SET', tag .. ':format', '3')
return 1
