-- read gives a thread's log without claiming it, and changes nothing.
-- THREAD, Seq after which it is wanted (0: from the base on; -1: all, also what
-- outlived `forget`).
-- Gives base, last Seq, Seq of the first entry given, what outlived `forget`,
-- log, inbox.
local thread, after = ARGV[1], tonumber(ARGV[2])
local h = get(thread, 'f', 'b', 'n')
local first = math.max(num(h.f), 1)
local base, kept, from = math.max(num(h.b), first), {}, first
if after < 0 then
  kept = redis.call('LRANGE', key('k', thread), 0, -1)
else
  from = math.max(base, after + 1)
end
return {base, num(h.n), from, kept, redis.call('LRANGE', key('l', thread), text(from - first), -1),
  redis.call('LRANGE', key('i', thread), 0, -1)}
