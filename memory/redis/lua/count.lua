-- count adds to a counter that is gone some time after its first use.
-- Name, how much, ttl.
local name = key('c', ARGV[1])
local n = redis.call('INCRBY', name, ARGV[2])
if redis.call('PTTL', name) < 0 then redis.call('PEXPIRE', name, ARGV[3]) end
return n
