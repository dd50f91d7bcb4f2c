-- refer makes a message name a thread of another channel, which may lie in another
-- shard: what is put for the message is sent on by the caller.
-- TARGET, THREAD, for how long, how many of those who waited were sent on.
-- Gives the entries that wait for the message.
local waiting = key('w', ARGV[1])
redis.call('SET', key('f', ARGV[1]), ARGV[2], 'PX', ARGV[3])
if num(ARGV[4]) > 0 then redis.call('LTRIM', waiting, ARGV[4], -1) end
return {redis.call('LRANGE', waiting, 0, -1)}
