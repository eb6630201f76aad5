-- Record what the job will ask, once for each lease.
local token, candidates, asked, batches = unpack(arguments)
if text('token') == token and text('planned_by') ~= token then
  redis.call('HSET', record, 'planned_by', token, 'candidates', candidates, 'asked', asked, 'batches', batches)
  tell('planned', '{"candidates":' .. candidates .. ',"asked":' .. asked .. ',"batches":' .. batches .. '}')
end
return 1
