-- read gives a thread's log without claiming it.
-- THREAD.
-- Gives the Seq of the first entry, what outlived `forget`, log, inbox.
local thread = ARGV[1]
local first = math.max(num(redis.call('HGET', key('t', thread), 'f')), 1)
return {first, redis.call('LRANGE', key('k', thread), 0, -1),
  redis.call('LRANGE', key('l', thread), 0, -1), redis.call('LRANGE', key('i', thread), 0, -1)}
