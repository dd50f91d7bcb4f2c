-- finish lets go of a thread, if the head of its log is the one that the caller
-- has seen, and moves what that saw of the inbox to the log.
-- After the lists: deadline, keep.
-- Gives 0, whether there is more in the inbox and so nothing was released,
-- whether anything was moved, now; or -1, the head and last Seq when it is
-- another one; or -2, now, the end of the chain when the audit lines do not follow
-- it.
local deadline, keep = num(ARGV[at]), num(ARGV[at + 1])
local v = redis.call('HMGET', key('t', thread), 's', 'q', 'c', 'n', 'f', 'b')
local h = {s = v[1], q = v[2], c = v[3], n = v[4], f = v[5], b = v[6]}
if h.c == own then -- the same call again
  if h.s == 'h' then return {0, 1, 1, now} end
  if h.s ~= '' then return {0, 0, 1, now} end -- it was woken since
elseif (h.c or '') ~= seen then
  return {-1, h.c or '', num(h.n)}
else
  if redis.call('LLEN', key('i', thread)) > taken then return {0, 1, 0, now} end
  if #entries > 0 then
    local other = unchained()
    if other then return other end
    local last = append(num(h.n))
    local f, b = rebase(h, last)
    redis.call('HSET', key('t', thread), 'c', own, 'n', text(last), 'f', f, 'b', b, 'g', '0')
    if redis.call('EXISTS', key('i', thread)) == 1 then return {0, 1, 1, now} end -- it waited for one of them
  end
  if h.s == 'r' then redis.call('XDEL', key('q', platform(thread)), h.q) end
end
redis.call('HSET', key('t', thread), 's', '', 'o', '', 'k', '', 'c', own, 'g', '0', 'w', text(deadline), 'u', text(now))
touch(thread)
if deadline > 0 then
  look(thread, deadline)
elseif keep > 0 then
  look(thread, now + keep)
else
  look(thread, 0)
end
return {0, 0, 1, now}
