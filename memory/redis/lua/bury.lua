-- bury removes consumers that have not asked for anything for long. With
-- nothing pending, since delivery needs no acknowledgement, one that does live
-- loses nothing: it is made again when it asks.
-- Group, how long, platforms...
-- Gives how many were removed.
local removed = 0
for i = 3, #ARGV do
  local ready = key('q', ARGV[i])
  local consumers = redis.pcall('XINFO', 'CONSUMERS', ready, ARGV[1])
  for _, c in ipairs(consumers) do
    local about = {}
    for j = 1, #c, 2 do about[c[j]] = c[j + 1] end
    if num(about.idle) >= num(ARGV[2]) then
      redis.call('XGROUP', 'DELCONSUMER', ready, ARGV[1], about.name)
      removed = removed + 1
    end
  end
end
return removed
