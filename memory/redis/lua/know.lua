-- Follows the prelude in scripts that take up messages.

-- know notes that a message belongs to a thread. What waited for that goes to
-- the inbox.
local function know(thread, ref)
  redis.call('SET', key('m', ref), thread)
  redis.call('SADD', key('r', thread), ref)
  local waiting = key('w', ref)
  local entries = redis.call('LRANGE', waiting, 0, -1)
  if #entries > 0 then
    push(key('i', thread), entries)
    redis.call('DEL', waiting)
  end
end
