-- Remove a finished job and everything about it.
local status = text('status')
if not status or status == 'queued' or status == 'running' then
  return 0
end
remove()
redis.call('DEL', tombstone)
return 1
