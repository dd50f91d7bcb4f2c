-- put adds an entry to a thread's inbox and wakes it.
-- THREAD (empty: that of TARGET), entry, own message, when that was sent,
-- TARGET, how long to wait for TARGET, call, event ttl, lease, keep, caller,
-- mail channel, events (channel, space, id)...
-- Gives 2, thread: nothing was done, TARGET names a thread of another channel.
-- 0: known already. 1: done. 1, thread: done, and the caller holds it.
local thread, entry, own, sent, target = ARGV[1], text(now) .. ' ' .. ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local call, lease, keep, me = ARGV[7], num(ARGV[9]), num(ARGV[10]), ARGV[11]

if thread == '' then thread = redis.call('GET', key('m', target)) or '' end
for i = 13, #ARGV do
  local by = redis.call('GET', key('e', ARGV[i]))
  if by then
    -- It writes, so that it can be waited for until a replica knows it too.
    redis.call('SET', key('e', ARGV[i]), by, 'EX', ARGV[8])
  end
  if by == call then
    -- The same call again, since its answer was lost on the way.
    local holder = thread ~= '' and redis.call('HGET', key('t', thread), 'o')
    if holder == me then return {1, thread} end
    return {1}
  elseif by then
    return {0}
  end
end

-- Only now: what came before the target was referred to is known here alone.
local elsewhere = thread == '' and redis.call('GET', key('f', target))
if elsewhere then return {2, elsewhere} end

local h = {}
if thread ~= '' then
  local v = redis.call('HMGET', key('t', thread), 's', 'o', 'u', 'w', 'c')
  h = {s = v[1], o = v[2], u = v[3], w = v[4], c = v[5]}
  if spent(h, keep) then
    expire(thread, keep)
    h = {c = h.c}
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
if num(h.u) == 0 then redis.call('PERSIST', key('t', thread)) end
redis.call('HSET', key('t', thread), 'u', text(now))
if not h.c then redis.call('HSET', key('t', thread), 'c', call) end -- the thread begins
if own ~= '' then
  redis.call('HSET', key('t', thread), 'm', own, 'd', sent)
  know(thread, own)
end
touch(thread)

if h.s == 'h' then
  if h.o == me then return {1, thread} end
  redis.pcall('PUBLISH', ARGV[12] .. (h.o or ''), thread)
elseif h.s ~= 'r' then
  queue(thread, lease)
end
return {1}
