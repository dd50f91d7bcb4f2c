-- Follows the prelude in scripts that look for what was handed out and not claimed.

-- handed says whether the ready stream has handed out an entry.
local delivered = {}
local function handed(p, id)
  if not delivered[p] then
    local groups = redis.pcall('XINFO', 'GROUPS', key('q', p))
    delivered[p] = '0-0'
    for _, g in ipairs(groups) do
      for i = 1, #g, 2 do
        if g[i] == 'last-delivered-id' then delivered[p] = g[i + 1] end
      end
    end
  end
  local ms, n = string.match(delivered[p], '(%d+)-(%d+)')
  local idMs, idN = string.match(id, '(%d+)-(%d+)')
  ms, n, idMs, idN = num(ms), num(n), num(idMs), num(idN)
  return ms > idMs or ms == idMs and n >= idN
end
