-- Every script begins with this. KEYS[1] is the hash tag of the shard, and
-- every key is made from it: all keys of a shard are in one slot of a cluster.
--
--   t:THREAD  hash    s state: r(eady), h(eld) or empty; q entry of the ready
--                     stream; k fencing token; n last Seq; f Seq of the first
--                     entry in the log; b base; w deadline; r woken at;
--                     o who holds it; p last Seq before the claim; c, a the
--                     last commit and its time; e token that was released;
--                     u touched; m, d the latest message
--   i:THREAD  list    inbox          l:THREAD  list  log, from Seq f on
--   k:THREAD  list    what outlives `forget`, each with its Seq
--   x:THREAD  hash    files          r:THREAD  set   messages of the thread
--   p:THREAD  hash    pending approvals: call -> message
--   m:REF     string  thread of a message
--   w:REF     list    entries that wait until a thread is known for a message
--   e:ID      string  known event id, and which call brought it
--   q:PLATFORM  stream  ready threads      seen:PLATFORM  zset  threads by touch
--   ask:PLATFORM  set   threads with pending approvals
--   due  zset   when to look at a thread: its deadline, the end of its lease,
--               or the end of its keeping
--   audit  stream      c:NAME  string  counter
--
-- An entry is its time in ms, a flag (! outlives `forget`, or a space), JSON.
local tag = KEYS[1]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function key(kind, name) return tag .. ':' .. kind .. ':' .. name end
local function num(v) return tonumber(v or '') or 0 end
local function text(n) return string.format('%.0f', n) end
local function platform(thread) return string.match(thread, '^[^/]*') end

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
  redis.call('HSET', key('t', thread), 's', 'r', 'q', id, 'r', text(now), 'o', '')
  look(thread, now + lease)
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

-- take moves the inbox to the log.
local function take(thread)
  local inbox = key('i', thread)
  local entries = redis.call('LRANGE', inbox, 0, -1)
  if #entries > 0 then
    push(key('l', thread), entries)
    redis.call('DEL', inbox)
  end
  return entries
end

-- expire erases a thread that nobody touched for too long. Its counters stay
-- for ten times as long, so that no Seq and no token comes twice.
local function expire(thread, keep)
  for _, ref in ipairs(redis.call('SMEMBERS', key('r', thread))) do
    redis.call('DEL', key('m', ref))
  end
  for _, kind in ipairs({'i', 'l', 'k', 'x', 'r', 'p'}) do
    redis.call('UNLINK', key(kind, thread))
  end
  local h = redis.call('HMGET', key('t', thread), 'k', 'n')
  redis.call('DEL', key('t', thread))
  if h[2] then
    redis.call('HSET', key('t', thread), 'k', h[1] or '0', 'n', h[2], 'f', text(h[2] + 1))
    redis.call('PEXPIRE', key('t', thread), text(keep * 10))
  end
  redis.call('ZREM', key('seen', platform(thread)), thread)
  redis.call('SREM', key('ask', platform(thread)), thread)
  look(thread, 0)
end

-- spent says whether a thread that is neither ready nor held, and has no
-- deadline, was kept for long enough.
local function spent(state, deadline, touched, keep)
  return keep > 0 and touched > 0 and touched + keep <= now
    and deadline == 0 and (not state or state == '')
end
