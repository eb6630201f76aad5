-- Record the outcomes of batches; the first one of each wins. Returns for each whether it was the first, also if asked
-- again. A stored outcome begins with the nonce of the request that stored it.
local FIELDS = 5
local is_running = text('status') == 'running'
local asked, batches = text('asked') or '0', text('batches') or '0'
local answers, new = {}, {'batch_scored'}
for at = 1, #arguments, FIELDS do
  local key, nonce, outcome, units, failure = unpack(arguments, at, at + FIELDS - 1)
  local is_first = 0
  if is_running and redis.call('HSETNX', outcomes, key, nonce .. outcome) == 1 then
    is_first = 1
    new[#new + 1] = key
    local scored = redis.call('HINCRBY', record, 'scored', units)
    local batches_scored = redis.call('HINCRBY', record, 'batches_scored', 1)
    redis.call('XADD', events, '*', 'type', 'batch_scored', 'data', '{"scored":' .. whole(scored) .. ',"asked":' ..
      asked .. ',"batches_scored":' .. whole(batches_scored) .. ',"batches":' .. batches .. ',"error":' .. failure ..
      '}')
  elseif is_running and string.sub(redis.call('HGET', outcomes, key), 1, #nonce) == nonce then
    is_first = 1
  end
  answers[#answers + 1] = is_first
end
if #new > 1 then
  redis.call('PEXPIRE', outcomes, redis.call('PTTL', record))
  ring(table.concat(new, ' '))
end
return answers
