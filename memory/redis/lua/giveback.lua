-- giveback makes ready again what the caller was given and did not, or may
-- not have, claimed. Nothing happens when that is no longer its business.
-- Caller, lease, then pairs of thread and entry of the ready stream.
local me, lease = ARGV[1], num(ARGV[2])
for i = 3, #ARGV, 2 do
  local thread, id = ARGV[i], ARGV[i + 1]
  local h = redis.call('HMGET', key('t', thread), 's', 'q', 'o')
  if h[2] == id and (h[1] == 'r' or h[1] == 'h' and h[3] == me) then
    queue(thread, lease, id)
  end
end
return 0
