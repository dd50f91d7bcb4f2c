-- commit appends to the log, if its head is the one that the caller has seen,
-- and applies the effects of what it appends. The caller is empty unless it begins
-- something. Where a deadline is given and the inbox is empty then, it also lets go
-- of the thread.
-- After the lists: nothing, or deadline, keep.
-- Gives 0, last Seq, time of the commit, now, inbox, when it let go or 0; or -1, the
-- head and last Seq when it is another one; or -2, now, the end of the chain when the
-- audit lines do not follow it.
local deadline, keep = ARGV[at], num(ARGV[at + 1])
local v = redis.call('HMGET', key('t', thread), 's', 'q', 'k', 'n', 'c', 'a', 'f', 'b')
local h = {s = v[1], q = v[2], k = v[3], n = v[4], c = v[5], a = v[6], f = v[7], b = v[8]}

-- The same commit again, since its answer was lost on the way. It writes, so
-- that it can be waited for until a replica has what the first one wrote.
if h.c == own then
  redis.call('HSET', key('t', thread), 'a', h.a)
  if deadline and not mine(h, token) then return {0, num(h.n), num(h.a), now, {}, now} end
  return {0, num(h.n), num(h.a), now, redis.call('LRANGE', key('i', thread), 0, -1), 0}
end
if (h.c or '') ~= seen then return {-1, h.c or '', num(h.n)} end
local other = unchained()
if other then return other end

local last = append(num(h.n))
local f, b = rebase(h, last)
redis.call('HSET', key('t', thread), 'c', own, 'n', text(last), 'a', when, 'f', f, 'b', b, 'g', '0')
-- Who begins something is known from then on.
if me ~= '' then redis.call('HSET', tag .. ':procs', me, text(now)) end
if deadline and redis.call('EXISTS', key('i', thread)) == 0 then
  if h.s == 'r' then redis.call('XDEL', key('q', platform(thread)), h.q) end
  redis.call('HSET', key('t', thread), 's', '', 'o', '', 'k', '', 'w', deadline, 'u', text(now))
  touch(thread)
  if num(deadline) > 0 then
    look(thread, num(deadline))
  elseif keep > 0 then
    look(thread, now + keep)
  else
    look(thread, 0)
  end
  return {0, last, num(when), now, {}, now}
end
-- The lease ran out, and nobody claimed it since.
if h.s == 'r' and mine(h, token) then hold(thread, h, lease) end
return {0, last, num(when), now, redis.call('LRANGE', key('i', thread), 0, -1), 0}
