-- Keep a lease from lapsing; also one that lapsed and that nobody has taken. Returns whether it is held.
local token, lease = unpack(arguments)
if text('token') ~= token then
  return 0
end
local lease_until = now + tonumber(lease)
redis.call('HSET', record, 'lease_until', whole(lease_until), 'renewed_at', whole(now), 'reports', 0)
redis.call('ZADD', leases, whole(lease_until), job_id)
return 1
