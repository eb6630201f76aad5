-- End a job that was not started in time. Returns whether it was one.
local start_timeout = unpack(arguments)
if text('status') ~= 'queued' then
  redis.call('ZREM', to_start, job_id)
  return 0
end
return time_out(start_timeout) and 1 or 0
