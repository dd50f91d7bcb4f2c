-- mend sees to it that each thread will be looked at when it has to be. A server
-- that came back older, or with another clock, may have forgotten to.
-- Lease, keep, threads...
-- Gives how many were not in order.
local lease, keep, mended = num(ARGV[1]), num(ARGV[2]), 0
local function mend(thread)
  local h = get(thread, 's', 'q', 'w', 'u')
  local at = num(redis.call('ZSCORE', tag .. ':due', thread))
  local want = 0
  if h.s == 'r' and #redis.call('XRANGE', key('q', platform(thread)), h.q, h.q) == 0
    or (h.s or '') == '' and redis.call('EXISTS', key('i', thread)) == 1 then
    queue(thread, lease)
    mended = mended + 1
    return
  elseif h.s == 'r' or h.s == 'h' then
    if at == 0 or at > now + lease then want = now + lease end
  elseif num(h.w) > 0 then
    if at ~= num(h.w) then want = num(h.w) end
  elseif keep > 0 and at == 0 and num(h.u) > 0 then
    want = num(h.u) + keep
  end
  if want > 0 then
    look(thread, want)
    mended = mended + 1
  end
end
local threads = {}
for i = 3, #ARGV do threads[#threads + 1] = ARGV[i] end
each(threads, mend)
return mended
