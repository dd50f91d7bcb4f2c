-- handoff lets go of a held thread and makes it ready.
-- THREAD, token, lease.
-- Gives -1 when it is not held under this token, else 0.
local thread, token, lease = ARGV[1], ARGV[2], num(ARGV[3])
local h = redis.call('HMGET', key('t', thread), 's', 'k', 'e')
if h[1] ~= 'h' or h[2] ~= token then
  if h[3] == token then return 0 end
  return -1
end
redis.call('HSET', key('t', thread), 'e', token)
queue(thread, lease)
return 0
