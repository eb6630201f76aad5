-- Decide whether somebody has to ask what became of a queued job's message, and when to ask again.
local look_again = unpack(arguments)
if text('status') ~= 'queued' then
  redis.call('ZREM', unclaimed, job_id)
  return 0
end
if tonumber(redis.call('ZSCORE', unclaimed, job_id) or 0) > now then
  return 0
end
redis.call('ZADD', unclaimed, whole(now + tonumber(look_again)), job_id)
return 1
