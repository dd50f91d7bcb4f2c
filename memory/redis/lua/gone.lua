-- gone says that a process ends, and never comes back. A thread that was handed to
-- a connection which closed before it read that is handed out once more, and so is
-- one that another process is about to claim, which then finds nothing to claim.
-- Caller, lease, how many threads at most.
local lease = num(ARGV[2])
each(redis.call('ZRANGEBYSCORE', tag .. ':due', '-inf', text(now + lease), 'LIMIT', 0, ARGV[3]), function(thread)
  local h = get(thread, 's', 'q')
  if h.s == 'r' and handed(platform(thread), h.q) then queue(thread, lease, h.q) end
end)
redis.call('HDEL', tag .. ':where', ARGV[1])
return redis.call('HDEL', tag .. ':procs', ARGV[1])
