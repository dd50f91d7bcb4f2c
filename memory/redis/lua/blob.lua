-- blob keeps a file, if there is room. A thread need not exist for that.
-- THREAD, name, content, keep, bytes that a thread may have (0: any), that all
-- may, that there are in other shards.
-- Gives 0, or what is full: 1 the thread, 2 all.
local thread, name, size, keep = ARGV[1], ARGV[2], #ARGV[3], num(ARGV[4])
local h = get(thread, 's', 'w', 'u', 'z')
if spent(h, keep) then
  expire(thread, keep)
  h = {}
end
local have = redis.call('HEXISTS', key('x', thread), name) == 1
if not have then
  if num(ARGV[5]) > 0 and num(h.z) + size > num(ARGV[5]) then return 1 end
  if num(ARGV[6]) > 0 and num(ARGV[7]) + num(redis.call('GET', tag .. ':bytes')) + size > num(ARGV[6]) then return 2 end
end
-- The touch comes first: it is what makes the file expire some day.
redis.call('PERSIST', key('t', thread))
redis.call('HSET', key('t', thread), 'u', text(now))
touch(thread)
if keep > 0 and (h.s or '') == '' and num(h.w) == 0 then look(thread, now + keep) end
if not have then
  redis.call('HSET', key('x', thread), name, ARGV[3])
  weigh(thread, size)
end
return 0
