-- Every script begins with this. KEYS[1] is the hash tag of the shard, and
-- every key is made from it: all keys of a shard are in one slot of a cluster.
--
--   format     string  number of the format that the shard is in
--   t:THREAD   hash    c HEAD, a word that changes with every change of the log
--                      and never comes again; y the head before the claim;
--                      s state: r(eady), h(eld) or empty; q entry of the ready
--                      stream; k token of the claim; o who claimed it; n last
--                      Seq; f Seq of the first entry in the log; b base;
--                      w deadline; r woken at; a time of the last commit;
--                      u touched; z bytes of files; m, d the latest message;
--                      g how much of the inbox runs were given that committed
--                      nothing yet, gp the same before the present claim
--   i:THREAD   list    inbox          l:THREAD  list  log, from Seq f on
--   k:THREAD   list    what outlives `forget`, each with its Seq
--   x:THREAD   hash    files          r:THREAD  set   messages of the thread
--   p:THREAD   hash    pending approvals: call -> message
--   m:REF      string  thread of a message
--   w:REF      list    entries that wait until a thread is known for a message
--   e:CHANNEL ID  string  known event id, and which call brought it
--   q:PLATFORM    stream  ready threads    seen:PLATFORM  zset  threads by touch
--   ask:PLATFORM  set     threads with pending approvals
--   due    zset    when to look at a thread: its deadline, the end of its
--                  lease, or the end of its keeping
--   procs  hash    processes, and when each was heard of last
--   audit  stream  bytes  string, of all files    c:NAME  string  counter
--
-- An entry is its time in ms, a flag (! outlives `forget`, or a space), JSON.
local tag = KEYS[1]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function key(kind, name) return tag .. ':' .. kind .. ':' .. name end
local function num(v) return tonumber(v or '') or 0 end
local function text(n) return string.format('%.0f', n) end
local function platform(thread) return string.match(thread, '^[^/]*') end

-- get gives fields of a thread, by name.
local function get(thread, ...)
  local names, h = {...}, {}
  for i, v in ipairs(redis.call('HMGET', key('t', thread), ...)) do h[names[i]] = v or nil end
  return h
end

local function push(list, entries)
  for i = 1, #entries, 1000 do
    redis.call('RPUSH', list, unpack(entries, i, math.min(i + 999, #entries)))
  end
end

-- look schedules when a thread is looked at; never, for 0.
local function look(thread, at)
  if at > 0 then
    redis.call('ZADD', tag .. ':due', text(at), thread)
  else
    redis.call('ZREM', tag .. ':due', thread)
  end
end

-- touch notes that somebody did something with a thread.
local function touch(thread)
  redis.call('ZADD', key('seen', platform(thread)), text(now), thread)
end

-- queue makes a thread ready to be claimed, in the place of its former entry
-- in the ready stream if it has one.
local function queue(thread, lease, former)
  local ready = key('q', platform(thread))
  if former and former ~= '' then redis.call('XDEL', ready, former) end
  local id = redis.call('XADD', ready, '*', 't', thread)
  redis.call('HSET', key('t', thread), 's', 'r', 'q', id, 'r', text(now))
  look(thread, now + lease)
end

-- hold gives the lease of a thread, or prolongs it. h holds its s and q.
local function hold(thread, h, lease)
  if h.s ~= 'h' then
    if h.s == 'r' then redis.call('XDEL', key('q', platform(thread)), h.q) end
    redis.call('HSET', key('t', thread), 's', 'h')
  end
  look(thread, now + lease)
end

-- mine says whether a thread is held under a token. One whose lease ran out is,
-- as long as nobody else has claimed it.
local function mine(h, token)
  return token ~= '' and h.k == token and (h.s == 'h' or h.s == 'r')
end

-- know notes that a message belongs to a thread. What waited for that goes to
-- the inbox.
local function know(thread, ref)
  redis.call('SET', key('m', ref), thread)
  redis.call('SADD', key('r', thread), ref)
  local waiting = key('w', ref)
  local entries = redis.call('LRANGE', waiting, 0, -1)
  if #entries > 0 then
    push(key('i', thread), entries)
    redis.call('DEL', waiting)
  end
end

-- weigh notes that a thread's files became larger or smaller by n bytes.
local function weigh(thread, n)
  if n == 0 then return end
  redis.call('HINCRBY', key('t', thread), 'z', text(n))
  redis.call('INCRBY', tag .. ':bytes', text(n))
end

-- empty erases a thread's files.
local function empty(thread)
  weigh(thread, -num(redis.call('HGET', key('t', thread), 'z')))
  redis.call('UNLINK', key('x', thread))
end

-- expire erases a thread that nobody touched for too long. Its counters stay
-- for ten times as long, so that no Seq comes twice, under a head that nobody
-- remembers anything for.
local function expire(thread, keep)
  empty(thread)
  for _, ref in ipairs(redis.call('SMEMBERS', key('r', thread))) do
    redis.call('DEL', key('m', ref))
  end
  for _, kind in ipairs({'i', 'l', 'k', 'r', 'p'}) do
    redis.call('UNLINK', key(kind, thread))
  end
  local n = redis.call('HGET', key('t', thread), 'n')
  redis.call('DEL', key('t', thread))
  if n then
    redis.call('HSET', key('t', thread), 'n', n, 'f', text(n + 1), 'c', 'expired ' .. text(now))
    redis.call('PEXPIRE', key('t', thread), text(keep * 10))
  end
  redis.call('ZREM', key('seen', platform(thread)), thread)
  redis.call('SREM', key('ask', platform(thread)), thread)
  look(thread, 0)
end

-- spent says whether a thread that is neither ready nor held, and has no
-- deadline, was kept for long enough. h holds its s, w and u.
local function spent(h, keep)
  return keep > 0 and num(h.u) > 0 and num(h.u) + keep <= now
    and num(h.w) == 0 and (h.s or '') == ''
end

-- each calls f for every element of a list, and goes on after one that is
-- damaged: it is the trouble of that one only. Gives the threads in trouble.
local function each(list, f)
  local bad = {}
  for _, v in ipairs(list) do
    if not pcall(f, v) then bad[#bad + 1] = v end
  end
  return bad
end
