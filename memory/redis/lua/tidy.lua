-- tidy removes what dead processes left behind. A consumer with nothing pending, since delivery needs no
-- acknowledgement, that lives all the same loses nothing: it is made again when
-- it asks.
-- Group, how long a consumer may be idle, how long a process be silent, platforms...
-- Gives how many consumers were removed.
local removed = 0
for i = 4, #ARGV do
  local ready = key('q', ARGV[i])
  for _, c in ipairs(redis.pcall('XINFO', 'CONSUMERS', ready, ARGV[1])) do
    local about = {}
    for j = 1, #c, 2 do about[c[j]] = c[j + 1] end
    if num(about.idle) >= num(ARGV[2]) then
      redis.call('XGROUP', 'DELCONSUMER', ready, ARGV[1], about.name)
      removed = removed + 1
    end
  end
end
local procs = redis.call('HGETALL', tag .. ':procs')
for i = 1, #procs, 2 do
  if num(procs[i + 1]) + num(ARGV[3]) <= now then
    redis.call('HDEL', tag .. ':procs', procs[i])
    redis.call('HDEL', tag .. ':where', procs[i])
  end
end
return removed
