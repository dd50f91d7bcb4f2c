-- touch notes that a thread is in use, for one that need not exist yet.
-- THREAD, keep.
local thread, keep = ARGV[1], num(ARGV[2])
local h = redis.call('HMGET', key('t', thread), 's', 'w', 'u')
if spent(h[1], num(h[2]), num(h[3]), keep) then expire(thread, keep) end
redis.call('PERSIST', key('t', thread))
redis.call('HSET', key('t', thread), 'u', text(now))
touch(thread)
if keep > 0 and (not h[1] or h[1] == '') and num(h[2]) == 0 then look(thread, now + keep) end
return 0
