-- swap notes a value where the old one still is what is noted.
-- Name, old value, value; an empty one is nothing noted.
-- Gives 1 when the value is what is noted now.
local name = key('note', ARGV[1])
local noted = redis.call('GET', name) or ''
if noted == ARGV[3] then return 1 end
if noted ~= ARGV[2] then return 0 end
if ARGV[3] == '' then
  redis.call('DEL', name)
else
  redis.call('SET', name, ARGV[3])
end
return 1
