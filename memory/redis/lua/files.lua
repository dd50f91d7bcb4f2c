-- Follows the prelude in scripts that keep or erase files.

-- weigh notes that a thread's files became larger or smaller by n bytes.
local function weigh(thread, n)
  if n == 0 then return end
  redis.call('HINCRBY', key('t', thread), 'z', text(n))
  redis.call('INCRBY', tag .. ':bytes', text(n))
end

-- empty erases a thread's files.
local function empty(thread)
  weigh(thread, -num(redis.call('HGET', key('t', thread), 'z')))
  redis.call('UNLINK', key('x', thread))
end
