-- drop erases a file.
-- THREAD, name.
local files = key('x', ARGV[1])
local size = redis.call('HSTRLEN', files, ARGV[2])
if redis.call('HDEL', files, ARGV[2]) == 1 then weigh(ARGV[1], -size) end
return 0
