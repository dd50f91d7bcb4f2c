-- commit appends to the log of a held thread, applies the effects of what it
-- appends, and moves the inbox to the log.
-- THREAD, token, last Seq, number of this commit, base, erase, then five lists,
-- each as its length and its elements: entries, messages, pending approvals
-- (call, message), settled calls, audit lines.
-- Gives -1 when the thread is not held under this token, -2 when the log is
-- not what the caller thinks; else last Seq, time of the commit, now, arrived.
local thread, token, seq, number = ARGV[1], ARGV[2], num(ARGV[3]), ARGV[4]
local base, erase = num(ARGV[5]), ARGV[6] == '1'
local at = 7
local function list()
  local out = {}
  local n = tonumber(ARGV[at])
  for i = 1, n do out[i] = ARGV[at + i] end
  at = at + n + 1
  return out
end
local entries, refs, asks, settled, audit = list(), list(), list(), list(), list()

local h = redis.call('HMGET', key('t', thread), 's', 'k', 'n', 'c', 'a', 'f', 'b')
if h[1] ~= 'h' or h[2] ~= token then return {-1} end
local last, first = num(h[3]), math.max(num(h[6]), 1)
local log = key('l', thread)

-- The same commit again, since its answer was lost on the way.
if h[4] == number then
  local more = take(thread)
  last = last + #more
  redis.call('HSET', key('t', thread), 'n', text(last))
  local arrived = redis.call('LRANGE', log, text(seq + #entries + 1 - first), -1)
  return {last, num(h[5]), now, arrived}
end
if last ~= seq then return {-2} end

for i = 1, #entries do entries[i] = text(now) .. entries[i] end
push(log, entries)
last = last + #entries

for _, ref in ipairs(refs) do know(thread, ref) end
for i = 1, #asks, 2 do
  redis.call('HSET', key('p', thread), asks[i], asks[i + 1])
  redis.call('SADD', key('ask', platform(thread)), thread)
end
if #settled > 0 then
  redis.call('HDEL', key('p', thread), unpack(settled))
  if redis.call('EXISTS', key('p', thread)) == 0 then
    redis.call('SREM', key('ask', platform(thread)), thread)
  end
end
for _, line in ipairs(audit) do
  redis.call('XADD', tag .. ':audit', '*', 'at', text(now), 'line', line)
end

local arrived = take(thread)
last = last + #arrived
base = math.min(base, last + 1)
if erase then
  if base > first then
    for i, e in ipairs(redis.call('LRANGE', log, 0, text(base - first - 1))) do
      if string.match(e, '^%d+!') then
        redis.call('RPUSH', key('k', thread), text(first + i - 1) .. ' ' .. e)
      end
    end
    redis.call('LTRIM', log, text(base - first), -1)
    first = base
  end
  redis.call('UNLINK', key('x', thread))
end
redis.call('HSET', key('t', thread), 'n', text(last), 'c', number, 'a', text(now),
  'f', text(first), 'b', text(math.max(base, num(h[7]))))
return {last, now, now, arrived}
