-- Choose the oldest finished jobs that have to go so that a job may take so many bytes, those left aside that were
-- finished a moment ago. Returns none if there is room, or if that would not do.
local bytes, max_bytes, retention, unread = unpack(arguments)
local page = 100
local finished_before = now - tonumber(unread)
local too_much = excess(tonumber(bytes), tonumber(max_bytes))
local chosen = {}
local offset = 0
while too_much > 0 do
  local until_then = whole(finished_before + tonumber(retention))
  local oldest = redis.call('ZRANGEBYSCORE', expiries, '-inf', until_then, 'LIMIT', offset, page)
  if #oldest == 0 then
    return {}
  end
  for _, other in ipairs(oldest) do
    if too_much > 0 and redis.call('SISMEMBER', active, other) == 0 then
      chosen[#chosen + 1] = other
      too_much = too_much - accounted(other)
    end
  end
  offset = offset + page
end
return chosen
