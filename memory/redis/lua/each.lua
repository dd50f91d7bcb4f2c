-- Follows the prelude in scripts that look at several threads.

-- each calls f for every element of a list, and goes on after one that is
-- damaged: it is the trouble of that one only. Gives the threads in trouble.
local function each(list, f)
  local bad = {}
  for _, v in ipairs(list) do
    if not pcall(f, v) then bad[#bad + 1] = v end
  end
  return bad
end
