-- handoff lets go of a thread and makes it ready, if the head of its log is the
-- one that the caller has seen.
-- THREAD, head seen, own head, lease.
-- Gives 0; or -1, the head and last Seq when it is another one.
local thread, seen, own, lease = ARGV[1], ARGV[2], ARGV[3], num(ARGV[4])
local v = redis.call('HMGET', key('t', thread), 's', 'c', 'n')
local h = {s = v[1], c = v[2], n = v[3]}
if h.c == own then return {0} end
if (h.c or '') ~= seen then return {-1, h.c or '', num(h.n)} end
redis.call('HSET', key('t', thread), 'o', '', 'k', '', 'c', own)
if h.s ~= 'r' then queue(thread, lease) end
return {0}
