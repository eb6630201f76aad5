-- Cancel a job unless it is finished. Returns its record; nil: there is none of this owner.
local is_administrator, asking = unpack(arguments)
local owner = text('owner')
if not owner or (is_administrator ~= '1' and owner ~= asking) then
  return false
end
local status = text('status')
if status == 'queued' or status == 'running' then
  finish('cancelled', '')
end
return redis.call('HGETALL', record)
