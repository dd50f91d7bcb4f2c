-- format raises the number of a shard's format.
-- From, to.
-- Gives the number that the shard has now. One without a number has the first.
local have = num(redis.call('GET', tag .. ':format') or '1')
if have == num(ARGV[1]) and num(ARGV[2]) > have then
  redis.call('SET', tag .. ':format', ARGV[2])
  have = num(ARGV[2])
end
return have
