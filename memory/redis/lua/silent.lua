-- silent says for how long nothing was heard of a process; -1: never.
-- Process.
local last = num(redis.call('HGET', tag .. ':procs', ARGV[1]))
if last == 0 then return -1 end
return math.max(now - last, 0)
