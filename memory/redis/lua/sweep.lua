-- sweep looks at the threads whose time has come: deadlines that passed,
-- leases that ran out, threads that were kept for long enough.
-- Lease, keep, how many at most, the entry of a deadline.
-- Gives now, when to look next (0: no thread to look at), threads in trouble, and
-- chains of the audit log whose threads were erased, which no line says yet, each with
-- when.
local lease, keep = num(ARGV[1]), num(ARGV[2])

local function sweep(thread)
  local h = get(thread, 's', 'q', 'w', 'u')
  local deadline, touched = num(h.w), num(h.u)
  if h.s == 'h' then
    queue(thread, lease)
  elseif h.s == 'r' then
    -- Handed out and not claimed: whoever got it died.
    if handed(platform(thread), h.q) then
      queue(thread, lease, h.q)
    else
      look(thread, now + lease)
    end
  elseif deadline > 0 and deadline <= now then
    redis.call('RPUSH', key('i', thread), text(now) .. ' ' .. ARGV[4])
    redis.call('HSET', key('t', thread), 'w', '0')
    queue(thread, lease)
  elseif spent(h, keep) then
    expire(thread, keep)
  elseif deadline > 0 then
    look(thread, deadline)
  elseif keep > 0 and touched > 0 then
    look(thread, touched + keep)
  else
    look(thread, 0)
  end
end

local bad = each(redis.call('ZRANGEBYSCORE', tag .. ':due', '-inf', text(now), 'LIMIT', 0, ARGV[3]), sweep)
for _, thread in ipairs(bad) do look(thread, now + 3600000) end
local head = redis.call('ZRANGE', tag .. ':due', 0, 0, 'WITHSCORES')
return {now, num(head[2]), bad, redis.call('HGETALL', tag .. ':tombs')}
