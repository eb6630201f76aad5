-- Remove a finished job before its time, unless that was a moment ago, and remember whose it was. Returns whether it
-- was removed.
local unread = unpack(arguments)
local finished_at = text('finished_at')
if not finished_at or now < tonumber(finished_at) + tonumber(unread) then
  return 0
end
local owner, retention = text('owner'), number('retention')
remove()
redis.call('SET', tombstone, owner, 'PXAT', whole(now + retention))
return 1
