-- gone says that a process ends, and never comes back.
-- Caller.
return redis.call('HDEL', tag .. ':procs', ARGV[1])
