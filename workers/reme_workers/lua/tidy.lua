-- Take a job that expired off all lists. Returns whether it was gone.
local left = redis.call('PTTL', record)
if left > 0 then
  redis.call('ZADD', expiries, whole(now + left), job_id)
  return 0
end
local entry = redis.call('HGET', ledger, job_id)
leave_lists(entry and string.match(entry, '^%d+ (.*)$') or nil)
return 1
