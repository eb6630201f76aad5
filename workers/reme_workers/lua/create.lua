-- Accept a job, or find the one that its idempotency key means.
-- Returns {what, record}: new, existing, conflict, busy, too_many, too_large or full.
local kind, owner, content, digest = unpack(arguments, 1, 4)
local start_within, timeout, retention, look_again = unpack(arguments, 5, 8)
local from_acceptance, max_active, max_active_of_owner, max_bytes, idempotency = unpack(arguments, 9, 13)

if redis.call('EXISTS', record) == 1 then
  return {'new', redis.call('HGETALL', record)}
end
if idempotency ~= '' then
  local earlier = redis.call('HGET', idempotency, 'record')
  local fields = earlier and redis.call('HGETALL', earlier) or {}
  if #fields > 0 then
    local is_same = redis.call('HGET', idempotency, 'digest') == digest
    return {is_same and 'existing' or 'conflict', fields}
  end
end
if redis.call('SCARD', active) >= tonumber(max_active) then
  return {'busy'}
end
if max_active_of_owner ~= '' and redis.call('SCARD', active_of .. owner) >= tonumber(max_active_of_owner) then
  return {'too_many'}
end
if BYTES_PER_JOB + #content > tonumber(max_bytes) then
  return {'too_large'}
end
if excess(#content, tonumber(max_bytes)) > 0 then
  return {'full'}
end

local start_before = now + tonumber(start_within)
redis.call('HSET', record, 'id', job_id, 'job', kind, 'owner', owner, 'status', 'queued', 'created_at', whole(now),
  'start_before', whole(start_before), 'timeout', timeout, 'retention', retention, 'from_acceptance', from_acceptance)
if idempotency ~= '' then
  redis.call('HSET', record, 'idempotency', idempotency)
  redis.call('HSET', idempotency, 'record', record, 'digest', digest)
end
redis.call('SET', body, content)
redis.call('SADD', active, job_id)
redis.call('SADD', active_of .. owner, job_id)
redis.call('ZADD', jobs, whole(now), job_id)
redis.call('ZADD', jobs_of .. owner, whole(now), job_id)
redis.call('ZADD', to_start, whole(start_before), job_id)
redis.call('ZADD', unclaimed, whole(now + tonumber(look_again)), job_id)
if from_acceptance == '1' then
  redis.call('ZADD', deadlines, whole(now + tonumber(timeout)), job_id)
end
account(#content, owner)
tell('queued', '{}')
live_until(start_before + tonumber(timeout) + tonumber(retention) + MARGIN)
return {'new', redis.call('HGETALL', record)}
