-- What every script begins with: its keys and arguments, the server's time, and the changes that several make.
-- One server holds all keys, so scripts may build the name of an owner's key from what a record says.
local record, events, body, result, outcomes, tombstone = unpack(KEYS, 1, 6)
local jobs, active, to_start, unclaimed, leases, deadlines, expiries, ledger, stored_bytes = unpack(KEYS, 7, 15)
local channel, job_id, jobs_of, active_of = unpack(ARGV, 1, 4)
local arguments = {unpack(ARGV, 5)}

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

-- How long the keys of a job outlive the last moment at which somebody could still need them.
local MARGIN = 3600 * 1000

-- What a job takes besides its request and its result: its record, its stream, its places on lists (as measured).
local BYTES_PER_JOB = 7168

local function whole(number)
  return string.format('%.0f', number)
end

local function text(name)
  return redis.call('HGET', record, name) or nil
end

local function number(name)
  return tonumber(text(name))
end

-- Wake whoever waits for this job; the words say what happened: the type of an event, and what it is about.
local function ring(words)
  redis.call('PUBLISH', channel, words)
end

local function tell(kind, data)
  redis.call('XADD', events, '*', 'type', kind, 'data', data)
  ring(kind)
end

-- A key of several jobs expires with the last one of them.
local function outlive(key, at)
  if now + redis.call('PTTL', key) < at then
    redis.call('PEXPIREAT', key, whole(at))
  end
end

local function live_until(at)
  local owner = text('owner')
  for _, key in ipairs({record, events, body, result, outcomes}) do
    redis.call('PEXPIREAT', key, whole(at))
  end
  local idempotency = text('idempotency')
  if idempotency then
    redis.call('PEXPIREAT', idempotency, whole(at))
  end
  outlive(jobs_of .. owner, at)
  outlive(active_of .. owner, at)
  redis.call('ZADD', expiries, whole(at), job_id)
end

-- How many bytes are noted for a job.
local function accounted(other)
  local entry = redis.call('HGET', ledger, other)
  return entry and tonumber(string.match(entry, '^%d+')) or 0
end

-- Note how many bytes of a request or result are kept; nil: the job is gone.
local function account(bytes, owner)
  local after = bytes and bytes + BYTES_PER_JOB or 0
  local change = after - accounted(job_id)
  if bytes then
    redis.call('HSET', ledger, job_id, whole(after) .. ' ' .. owner)
  else
    redis.call('HDEL', ledger, job_id)
  end
  redis.call('INCRBY', stored_bytes, whole(change))
end

-- By how much all jobs together would exceed a limit if this one had a request or result of so many bytes.
local function excess(bytes, max_bytes)
  local others = tonumber(redis.call('GET', stored_bytes) or 0) - accounted(job_id)
  return others + BYTES_PER_JOB + bytes - max_bytes
end

local function leave_schedules()
  for _, schedule in ipairs({to_start, unclaimed, leases, deadlines}) do
    redis.call('ZREM', schedule, job_id)
  end
end

local function finish(status, failure)
  local owner = text('owner')
  local expires = now + number('retention')
  redis.call('HSET', record, 'status', status, 'finished_at', whole(now), 'expires_at', whole(expires))
  if failure ~= '' then
    redis.call('HSET', record, 'error', failure)
  end
  redis.call('HDEL', record, 'token')
  redis.call('DEL', body, outcomes)
  redis.call('SREM', active, job_id)
  redis.call('SREM', active_of .. owner, job_id)
  leave_schedules()
  account(redis.call('STRLEN', result), owner)
  tell('finished', '{"status":"' .. status .. '","error":' .. (failure ~= '' and failure or 'null') .. '}')
  live_until(expires)
  redis.call('SET', tombstone, owner, 'PXAT', whole(expires + number('retention')))
end

-- End a job that was not started in time; whether it was one.
local function time_out(failure)
  local is_overdue = text('status') == 'queued' and now >= number('start_before')
  if is_overdue then
    finish('timed_out', failure)
  end
  return is_overdue
end

-- Whether a running job's total time has passed and its holder has missed a renewal.
local function is_silent_after_deadline(silent_after)
  return now >= number('deadline') and now >= number('renewed_at') + silent_after
end

-- Take every trace of a job off the lists of all jobs.
local function leave_lists(owner)
  leave_schedules()
  redis.call('SREM', active, job_id)
  redis.call('ZREM', jobs, job_id)
  redis.call('ZREM', expiries, job_id)
  if owner then
    redis.call('ZREM', jobs_of .. owner, job_id)
    redis.call('SREM', active_of .. owner, job_id)
  end
  account(nil)
end

-- Remove a finished job; its tombstone is left to the caller.
local function remove()
  local idempotency = text('idempotency')
  if idempotency and redis.call('HGET', idempotency, 'record') == record then
    redis.call('DEL', idempotency)
  end
  leave_lists(text('owner'))
  redis.call('DEL', record, events, body, result, outcomes)
  ring('removed')
end
