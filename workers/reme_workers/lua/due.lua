-- Find the jobs whose time has come on each schedule: to_start, unclaimed, leases, deadlines, expiries.
local at_most = unpack(arguments)
local due = {}
for index, schedule in ipairs({to_start, unclaimed, leases, deadlines, expiries}) do
  due[index] = redis.call('ZRANGEBYSCORE', schedule, '-inf', whole(now), 'LIMIT', 0, at_most)
end
return due
