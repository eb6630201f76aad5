-- Decide whether a job has to be handed to a runner again, and when it is to be looked at next if nobody takes it.
-- After an outage, only a lease that was renewed since, within so many milliseconds, can have lapsed; -1: any can.
local lease, silent_after, longest_pause, renewed_within = unpack(arguments)
local status = text('status')
if status == 'queued' then
  return 0
end
if status ~= 'running' then
  redis.call('ZREM', leases, job_id)
  redis.call('ZREM', deadlines, job_id)
  return 0
end
if tonumber(renewed_within) >= 0 and number('renewed_at') < now - tonumber(renewed_within) then
  return 0
end
local due = tonumber(redis.call('ZSCORE', leases, job_id) or 0)
local waits_for_deadline = redis.call('ZSCORE', deadlines, job_id)
if due > now and not (waits_for_deadline and is_silent_after_deadline(tonumber(silent_after))) then
  return 0
end
local reports = redis.call('HINCRBY', record, 'reports', 1)
local pause = math.min(tonumber(lease) * 2 ^ (reports - 1), tonumber(longest_pause))
redis.call('ZADD', leases, whole(now + pause), job_id)
if now >= number('deadline') then
  redis.call('ZREM', deadlines, job_id)
end
return 1
