-- reckon notes how many bytes the files of a thread have.
-- THREAD.
local thread, sum = ARGV[1], 0
for _, name in ipairs(redis.call('HKEYS', key('x', thread))) do
  sum = sum + redis.call('HSTRLEN', key('x', thread), name)
end
weigh(thread, sum - num(redis.call('HGET', key('t', thread), 'z')))
return sum
