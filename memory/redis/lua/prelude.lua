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
--                      nothing yet, gp the same before the present claim;
--                      j the name of its audit chain, if it is another one
--   i:THREAD   list    inbox          l:THREAD  list  log, from Seq f on
--   k:THREAD   list    what outlives `forget`, each with its Seq
--   x:THREAD   hash    files          r:THREAD  set   messages of the thread
--   p:THREAD   hash    pending approvals: call -> message
--   m:REF      string  thread of a message
--   f:REF      string  thread of a message that stands in another channel
--   w:REF      list    entries that wait until a thread is known for a message
--   e:CHANNEL ID  string  known event id, and which call brought it
--   q:PLATFORM    stream  ready threads    seen:PLATFORM  zset  threads by touch
--   ask:PLATFORM  set     threads with pending approvals
--   due    zset    when to look at a thread: its deadline, the end of its
--                  lease, or the end of its keeping
--   procs  hash    processes, and when each was heard of last
--   where  hash    processes, and the name of each among all of its machine
--   audit  stream  lines of the audit log, each with the text of its reason
--   heads  hash    ends of its chains: thread -> Seq, hash
--   tombs  hash    chains of erased threads of which no line says so yet -> when
--   people hash    keys of pseudonyms: platform:id -> key
--   bytes  string, of all files                    c:NAME  string  counter
--   note:NAME  string  what was noted
--
-- An entry is its time in ms, a flag (! outlives `forget`, or a space), JSON.
local tag = KEYS[1]

-- While a slot of a cluster moves, either server has but some of its keys, and takes
-- what it lacks for what is nowhere; but two keys at once of which it lacks one it
-- refuses. There never is a key of the first name.
redis.call('EXISTS', tag, tag .. ':format')
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
