-- beat says that a process lives, and renews the leases of what it holds.
-- Caller, lease, then pairs of THREAD and token.
-- Gives now, when this process was heard of last, when to look at the next
-- thread (0: never), and for each thread -1 when it is not held under that
-- token, else the length of the inbox.
local me, lease = ARGV[1], num(ARGV[2])
local before = redis.call('HGET', tag .. ':procs', me)
redis.call('HSET', tag .. ':procs', me, text(now))
local head = redis.call('ZRANGE', tag .. ':due', 0, 0, 'WITHSCORES')
local out = {now, num(before), num(head[2])}
for i = 3, #ARGV, 2 do
  local thread, token = ARGV[i], ARGV[i + 1]
  local n = #out + 1
  out[n] = -1
  each({thread}, function()
    local h = get(thread, 's', 'q', 'k')
    if not mine(h, token) then return end
    hold(thread, h, lease)
    out[n] = redis.call('LLEN', key('i', thread))
  end)
end
return out
