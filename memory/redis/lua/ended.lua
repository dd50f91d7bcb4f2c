-- ended makes ready what a process had that ended without a word: what it held, and
-- what was handed out and not claimed, by whomever. When it was heard of last stays
-- known, since what it began may take a while longer.
-- Process, lease, among how many threads at most.
local lease = num(ARGV[2])
each(redis.call('ZRANGEBYSCORE', tag .. ':due', '-inf', text(now + lease), 'LIMIT', 0, ARGV[3]), function(thread)
  local h = get(thread, 's', 'q', 'o')
  if h.s == 'h' and h.o == ARGV[1] then
    redis.call('HSET', key('t', thread), 'o', '', 'k', '')
    queue(thread, lease)
  elseif h.s == 'r' and handed(platform(thread), h.q) then
    queue(thread, lease, h.q)
  end
end)
return redis.call('HDEL', tag .. ':where', ARGV[1])
