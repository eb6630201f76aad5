-- Take the lease of a job that is queued, or running with a lease that nobody holds.
-- Returns {attempt, milliseconds that it has run, owner}; nil: it must not be run.
local token, holder, lease, silent_after, start_timeout = unpack(arguments)

local function running_since()
  return number(text('from_acceptance') == '1' and 'created_at' or 'started_at')
end

local status = text('status')
if status ~= 'queued' and status ~= 'running' then
  return false
end
if status == 'running' then
  if text('token') == token then
    -- Asked again because the answer got lost.
    return {number('attempt'), now - running_since(), text('owner')}
  end
  local is_held = text('token') and now < number('lease_until')
  if is_held and not is_silent_after_deadline(tonumber(silent_after)) then
    return false
  end
elseif time_out(start_timeout) then
  return false
end

-- A large request takes a while to be read, and nobody renews meanwhile: a second for 10 MB of it.
local lease_until = now + tonumber(lease) + math.floor(redis.call('STRLEN', body) / 10000)
local attempt = redis.call('HINCRBY', record, 'attempt', 1)
redis.call('HSETNX', record, 'started_at', whole(now))
local deadline = running_since() + number('timeout')
redis.call('HSET', record, 'status', 'running', 'token', token, 'holder', holder, 'deadline', whole(deadline),
  'lease_until', whole(lease_until), 'renewed_at', whole(now), 'reports', 0)
leave_schedules()
redis.call('ZADD', leases, whole(lease_until), job_id)
redis.call('ZADD', deadlines, whole(deadline), job_id)
tell('started', '{"attempt":' .. whole(attempt) .. '}')
live_until(math.max(now, deadline) + number('retention') + MARGIN)
return {attempt, now - running_since(), text('owner')}
