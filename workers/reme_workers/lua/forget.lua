-- Remove a finished job and everything about it.
local status = text('status')
if not status or status == 'queued' or status == 'running' then
  return 0
end
local idempotency = text('idempotency')
if idempotency and redis.call('HGET', idempotency, 'record') == record then
  redis.call('DEL', idempotency)
end
leave_lists(text('owner'))
redis.call('DEL', record, events, body, result, outcomes, tombstone)
ring()
return 1
