-- giveback makes ready again what the caller was given and did not, or may not
-- have, claimed. Nothing happens when that is no longer its business.
-- Lease, then for each THREAD, entry of the ready stream, token (empty: it was
-- not claimed).
local lease = num(ARGV[1])
for i = 2, #ARGV, 3 do
  each({ARGV[i]}, function(thread)
    local id, token = ARGV[i + 1], ARGV[i + 2]
    local h = get(thread, 's', 'q', 'k')
    if h.s == 'h' and token ~= '' and h.k == token then
      redis.call('HSET', key('t', thread), 'o', '', 'k', '')
      queue(thread, lease)
    elseif h.s == 'r' and h.q == id then
      queue(thread, lease, id)
    end
  end)
end
return 0
