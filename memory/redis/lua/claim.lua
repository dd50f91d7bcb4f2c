-- claim takes the lease of a ready thread. What is in the inbox stays there until
-- a run commits. A claim is refused where the log is an older one than the caller
-- remembers.
-- THREAD, entry of the ready stream, caller, lease, the entry of a deadline,
-- token, last Seq that the caller remembers, then the heads that it remembers,
-- the oldest first; if the last one is the log's, only what came since is given.
-- Gives nothing when there is nothing to claim; -1, the head when that is not
-- the last one remembered; else 0, last Seq, base, Seq of the first entry given,
-- how long it was ready, now, the head before, how much of the inbox earlier runs
-- were given that committed nothing, log, inbox.
local thread, id, me, lease, token = ARGV[1], ARGV[2], ARGV[3], num(ARGV[4]), ARGV[6]
local v = redis.call('HMGET', key('t', thread), 's', 'q', 'k', 'n', 'f', 'b', 'w', 'r', 'c', 'y', 'g', 'gp')
local h = {s = v[1], q = v[2], k = v[3], n = v[4], f = v[5], b = v[6], w = v[7], r = v[8], c = v[9], y = v[10], g = v[11], gp = v[12]}
local known = 0

if h.s ~= 'h' or h.k ~= token then -- else it is the same call again
  if h.s ~= 'r' or h.q ~= id then
    redis.call('XDEL', key('q', platform(thread)), id)
    return {}
  end
  for i = 8, #ARGV do
    if ARGV[i] == h.c then
      if i < #ARGV then return {-1, h.c} end
      known = num(ARGV[7])
    end
  end
  h.y = h.c or ''
  if num(h.w) > 0 and num(h.w) <= now then
    redis.call('RPUSH', key('i', thread), text(now) .. ' ' .. ARGV[5])
  end
  h.gp = text(num(h.g))
  redis.call('HSET', key('t', thread), 'o', me, 'k', token, 'c', token, 'y', h.y, 'w', '0',
    'g', text(redis.call('LLEN', key('i', thread))), 'gp', h.gp)
  hold(thread, h, lease)
end

local first = math.max(num(h.f), 1)
local base = math.max(num(h.b), first)
local from = math.max(base, known + 1)
return {0, num(h.n), base, from, now - num(h.r), now, h.y or '', num(h.gp),
  redis.call('LRANGE', key('l', thread), text(from - first), -1), redis.call('LRANGE', key('i', thread), 0, -1)}
