-- beat renews leases.
-- Lease, then pairs of thread and token.
-- Gives for each -1 when it is lost, else the length of the inbox.
local lease, out = num(ARGV[1]), {}
for i = 2, #ARGV, 2 do
  local thread = ARGV[i]
  local h = redis.call('HMGET', key('t', thread), 's', 'k')
  if h[1] == 'h' and h[2] == ARGV[i + 1] then
    look(thread, now + lease)
    out[#out + 1] = redis.call('LLEN', key('i', thread))
  else
    out[#out + 1] = -1
  end
end
return out
