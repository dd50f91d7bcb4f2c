-- finish lets go of a held thread.
-- THREAD, token, deadline, keep.
-- Gives -1 when it is not held under this token, 1 when the inbox is not
-- empty, 0 when it was released; and now.
local thread, token, deadline, keep = ARGV[1], ARGV[2], num(ARGV[3]), num(ARGV[4])
local h = redis.call('HMGET', key('t', thread), 's', 'k', 'e')
if h[1] ~= 'h' or h[2] ~= token then
  -- The same call again, since its answer was lost on the way.
  if h[3] == token then return {0, now} end
  return {-1, now}
end
if redis.call('EXISTS', key('i', thread)) == 1 then return {1, now} end
redis.call('HSET', key('t', thread), 's', '', 'o', '', 'e', token, 'w', text(deadline), 'u', text(now))
touch(thread)
if deadline > 0 then
  look(thread, deadline)
elseif keep > 0 then
  look(thread, now + keep)
else
  look(thread, 0)
end
return {0, now}
