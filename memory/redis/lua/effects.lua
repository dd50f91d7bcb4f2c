-- Follows know and files in scripts that append to a log. The arguments from
-- ARGV[at] on are: THREAD, token, head that the caller has seen, its own head,
-- caller, lease, base, erase, how many of the entries come from the inbox, then
-- five lists, each as its length and its elements: entries (those without a time
-- happen now), messages, pending approvals (call, message), settled calls, audit
-- (nothing; or when now is, the name of the thread's chain, its end before and after,
-- then pairs of a line and the text of its reason). at is where what follows begins.
local thread, token, seen, own, me, lease = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], num(ARGV[6])
local base, erase = num(ARGV[7]), ARGV[8] == '1'
local taken = num(ARGV[9])
local at = 10
local function list()
  local out = {}
  local n = tonumber(ARGV[at])
  for i = 1, n do out[i] = ARGV[at + i] end
  at = at + n + 1
  return out
end
local entries, refs, asks, settled, audit = list(), list(), list(), list(), list()

-- The caller hashes the lines, with their times, and so says what time it is. That
-- is a little late, and never early.
local when = audit[1] or text(now)

-- unchained refuses lines that do not follow those that there are, or whose time
-- is not now.
local function unchained()
  if #audit == 0 then return nil end
  local head = redis.call('HGET', tag .. ':heads', audit[2]) or ''
  if audit[3] == head and num(when) <= now and num(when) > now - 60000 then return nil end
  return {-2, now, head}
end

-- untake removes from the inbox what enters the log from there. Where a server
-- came back older it may be elsewhere in the inbox, or not at all.
local function untake()
  if taken == 0 then return end
  local inbox = key('i', thread)
  local same = true
  for i, e in ipairs(redis.call('LRANGE', inbox, 0, taken - 1)) do same = same and e == entries[i] end
  if same then
    redis.call('LTRIM', inbox, taken, -1)
    return
  end
  local known, rest = {}, {}
  for i = 1, taken do known[entries[i]] = true end
  for _, e in ipairs(redis.call('LRANGE', inbox, 0, -1)) do
    if not known[e] then rest[#rest + 1] = e end
  end
  redis.call('DEL', inbox)
  push(inbox, rest)
end

-- append adds the entries to the log with what they change beside it, and
-- gives the last Seq.
local function append(last)
  untake()
  for i = 1, #entries do
    if not string.match(entries[i], '^%d') then entries[i] = when .. entries[i] end
  end
  push(key('l', thread), entries)
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
  for i = 5, #audit, 2 do
    if audit[i + 1] == '' then
      redis.call('XADD', tag .. ':audit', '*', 'line', audit[i])
    else
      redis.call('XADD', tag .. ':audit', '*', 'line', audit[i], 'text', audit[i + 1])
    end
  end
  if #audit > 0 then
    redis.call('HSET', tag .. ':heads', audit[2], audit[4])
    if audit[2] ~= thread then redis.call('HSET', key('t', thread), 'j', audit[2]) end
  end
  return last + #entries
end

-- forgetFiles erases a thread's files, but for those of messages that are still there.
local function forgetFiles(thread)
  local names, left = redis.call('HKEYS', key('x', thread)), {}
  if #names == 0 then return end
  for _, kind in ipairs({'l', 'i'}) do
    for _, e in ipairs(redis.call('LRANGE', key(kind, thread), 0, -1)) do
      if string.match(e, '^%d+.{"k":"message"') then left[#left + 1] = e end
    end
  end
  local rest = table.concat(left, '\n')
  for _, name in ipairs(names) do
    if not string.find(rest, name, 1, true) then
      weigh(thread, -redis.call('HSTRLEN', key('x', thread), name))
      redis.call('HDEL', key('x', thread), name)
    end
  end
end

-- rebase moves the base, and erases what is before it where that was asked for.
-- h holds the thread's f and b. Gives its new f and b.
local function rebase(h, last)
  local log, first = key('l', thread), math.max(num(h.f), 1)
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
    forgetFiles(thread)
  end
  return text(first), text(math.max(base, num(h.b)))
end
