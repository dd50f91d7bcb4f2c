-- claim takes the lease of a ready thread and moves its inbox to the log.
-- THREAD, entry of the ready stream, caller, lease, the entry of a deadline; the
-- token of the caller's last claim and the last Seq that it remembers from then.
-- Gives nothing when there is nothing to claim; else token, last Seq before,
-- last Seq, base, Seq of the first entry given, how long it was ready, now, entries.
local thread, id, me, lease = ARGV[1], ARGV[2], ARGV[3], num(ARGV[4])
local h = redis.call('HMGET', key('t', thread), 's', 'q', 'o', 'k', 'n', 'p', 'f', 'b', 'w', 'r')
if h[2] ~= id then
  redis.call('XDEL', key('q', platform(thread)), id)
  return {}
end

local token, seq, before = num(h[4]), num(h[5]), num(h[6])
local known = 0
if h[1] == 'r' and num(ARGV[6]) > 0 and num(ARGV[6]) == token and num(ARGV[7]) <= seq then
  known = num(ARGV[7])
end
if h[1] == 'r' then
  local log = key('l', thread)
  token, before = token + 1, seq
  seq = seq + #take(thread)
  if num(h[9]) > 0 and num(h[9]) <= now then
    redis.call('RPUSH', log, text(now) .. ' ' .. ARGV[5])
    seq = seq + 1
  end
  redis.call('HSET', key('t', thread), 's', 'h', 'o', me, 'k', text(token),
    'n', text(seq), 'p', text(before), 'w', '0')
  redis.call('XDEL', key('q', platform(thread)), id)
  look(thread, now + lease)
elseif h[1] ~= 'h' or h[3] ~= me then
  return {}
end

local first = math.max(num(h[7]), 1)
local base = math.max(num(h[8]), first)
local from = math.max(base, known + 1)
local entries = redis.call('LRANGE', key('l', thread), text(from - first), -1)
return {token, before, seq, base, from, now - num(h[10]), now, entries}
