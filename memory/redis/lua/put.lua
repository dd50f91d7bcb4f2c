-- put adds an entry to a thread's inbox and wakes it.
-- THREAD (empty: that of TARGET), entry, own message, when that was sent,
-- TARGET, how long to wait for TARGET, call, event ttl, lease, keep, caller,
-- mail channel, event ids...
-- Gives 0: known already. 1: done. 1, thread: done, and the caller holds it.
local thread, entry, own, sent, target = ARGV[1], text(now) .. ' ' .. ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local call, lease, keep, me = ARGV[7], num(ARGV[9]), num(ARGV[10]), ARGV[11]

if thread == '' then
  thread = redis.call('GET', key('m', target)) or ''
end
for i = 13, #ARGV do
  local by = redis.call('GET', key('e', ARGV[i]))
  if by == call then
    -- The same call again, since its answer was lost on the way.
    local holder = redis.call('HGET', key('t', thread), 'o')
    if thread ~= '' and holder == me then return {1, thread} end
    return {1}
  elseif by then
    return {0}
  end
end

local h = {}
if thread ~= '' then
  h = redis.call('HMGET', key('t', thread), 's', 'o', 'u', 'w', 'q')
  if spent(h[1], num(h[4]), num(h[3]), keep) then
    expire(thread, keep)
    h = {}
    if target ~= '' then thread = '' end
  end
end

for i = 13, #ARGV do
  redis.call('SET', key('e', ARGV[i]), call, 'EX', ARGV[8])
end
if thread == '' then
  redis.call('RPUSH', key('w', target), entry)
  redis.call('PEXPIRE', key('w', target), ARGV[6])
  return {1}
end

redis.call('RPUSH', key('i', thread), entry)
if num(h[3]) == 0 then redis.call('PERSIST', key('t', thread)) end
redis.call('HSET', key('t', thread), 'u', text(now))
if own ~= '' then
  redis.call('HSET', key('t', thread), 'm', own, 'd', sent)
  know(thread, own)
end
touch(thread)

if h[1] == 'h' then
  if h[2] == me then return {1, thread} end
  redis.pcall('PUBLISH', ARGV[12] .. h[2], thread)
elseif h[1] ~= 'r' then
  queue(thread, lease)
end
return {1}
