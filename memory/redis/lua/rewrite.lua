-- rewrite replaces entries of a thread, if its log and its inbox are still those that
-- the caller has read. The new head ends whatever run holds it, and no process
-- remembers a log for it.
-- THREAD, head, length of the inbox, the new head, then for each entry: the kind of its
-- list (k, l, i), its index there, the entry.
-- Gives 1; or 0 where they are others.
local thread, own = ARGV[1], ARGV[4]
local head = get(thread, 'c').c or ''
if head == own then return {1} end
if head ~= ARGV[2] or redis.call('LLEN', key('i', thread)) ~= num(ARGV[3]) then return {0} end
for i = 5, #ARGV, 3 do redis.call('LSET', key(ARGV[i], thread), ARGV[i + 1], ARGV[i + 2]) end
redis.call('HSET', key('t', thread), 'c', own)
return {1}
