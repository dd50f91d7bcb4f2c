-- Follows files in scripts that erase what was kept for long enough.

-- expire erases a thread that nobody touched for too long. Its counters stay
-- for ten times as long, so that no Seq comes twice, under a head that nobody
-- remembers anything for.
local function expire(thread, keep)
  empty(thread)
  for _, ref in ipairs(redis.call('SMEMBERS', key('r', thread))) do
    redis.call('DEL', key('m', ref))
  end
  for _, kind in ipairs({'i', 'l', 'k', 'r', 'p'}) do
    redis.call('UNLINK', key(kind, thread))
  end
  local h = get(thread, 'n', 'j')
  local chain = h.j or thread
  redis.call('DEL', key('t', thread))
  if h.n then
    redis.call('HSET', key('t', thread), 'n', h.n, 'f', text(h.n + 1), 'c', 'expired ' .. text(now), 'j', chain)
    redis.call('PEXPIRE', key('t', thread), text(keep * 10))
  end
  if redis.call('HEXISTS', tag .. ':heads', chain) == 1 then
    redis.call('HSET', tag .. ':tombs', chain, text(now))
  end
  redis.call('ZREM', key('seen', platform(thread)), thread)
  redis.call('SREM', key('ask', platform(thread)), thread)
  look(thread, 0)
end

-- spent says whether a thread that is neither ready nor held, and has no
-- deadline, was kept for long enough. h holds its s, w and u.
local function spent(h, keep)
  return keep > 0 and num(h.u) > 0 and num(h.u) + keep <= now
    and num(h.w) == 0 and (h.s or '') == ''
end
