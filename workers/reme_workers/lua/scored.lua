-- Record the outcome of a batch; the first one wins. Returns whether it was the first, also if asked again.
-- A stored outcome begins with the nonce of the request that stored it.
local key, nonce, outcome, units, failure = unpack(arguments)
if text('status') ~= 'running' then
  return 0
end
if redis.call('HSETNX', outcomes, key, nonce .. outcome) == 0 then
  return string.sub(redis.call('HGET', outcomes, key), 1, #nonce) == nonce and 1 or 0
end
redis.call('PEXPIRE', outcomes, redis.call('PTTL', record))
local scored = redis.call('HINCRBY', record, 'scored', units)
local batches_scored = redis.call('HINCRBY', record, 'batches_scored', 1)
tell('batch_scored', '{"scored":' .. whole(scored) .. ',"asked":' .. (text('asked') or '0') .. ',"batches_scored":' ..
  whole(batches_scored) .. ',"batches":' .. (text('batches') or '0') .. ',"error":' .. failure .. '}')
return 1
