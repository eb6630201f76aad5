-- Give a lease back. Whoever does so hands the job over; if that goes wrong, the sweep does it a lease later.
local token, lease = unpack(arguments)
if text('token') == token then
  redis.call('HDEL', record, 'token')
  redis.call('ZADD', leases, whole(now + tonumber(lease)), job_id)
  ring('released')
end
return 1
