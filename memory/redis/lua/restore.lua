-- restore appends again what a server lost that came back older, if its head is
-- the one from which the caller knows how it went on. What comes again from the
-- inbox is taken out there. With a token the thread is held under it then;
-- without, it is made ready.
-- The last argument is the last Seq under the head that the caller has seen.
-- Gives 0 when it was done; or -1, the head and last Seq when it is another one; or
-- -2, now, the end of the chain when the audit lines do not follow it.
local v = redis.call('HMGET', key('t', thread), 's', 'q', 'n', 'c', 'f', 'b')
local h = {s = v[1], q = v[2], n = v[3], c = v[4], f = v[5], b = v[6]}
if h.c == own then return {0} end
if (h.c or '') ~= seen or num(h.n) ~= num(ARGV[at]) then return {-1, h.c or '', num(h.n)} end
local other = unchained()
if other then return other end

local last = append(num(h.n))
local f, b = rebase(h, last)
redis.call('HSET', key('t', thread), 'c', own, 'n', text(last), 'a', text(now), 'f', f, 'b', b, 'u', text(now))
touch(thread)
if token ~= '' then
  redis.call('HSET', key('t', thread), 'k', token, 'o', me)
  hold(thread, h, lease)
elseif h.s ~= 'r' and h.s ~= 'h' then
  queue(thread, lease)
end
return {0}
