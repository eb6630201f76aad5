-- Record that the proposal is being made, once for each lease.
local token = unpack(arguments)
if text('token') == token and text('decided_by') ~= token then
  redis.call('HSET', record, 'decided_by', token)
  tell('deciding', '{}')
end
return 1
