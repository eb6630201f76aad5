-- Finish a job with its response or an error. Returns whether the lease was held, also if asked again; -1: there is no
-- room for the response, and nothing has changed.
-- The nonce names who asks, since an answer may get lost.
local token, nonce, status, failure, response, max_bytes = unpack(arguments)
if text('token') ~= token then
  return text('finished_by') == nonce and 1 or 0
end
if status == 'succeeded' then
  if excess(#response, tonumber(max_bytes)) > 0 then
    return -1
  end
  redis.call('SET', result, response)
end
redis.call('HSET', record, 'finished_by', nonce)
finish(status, failure)
return 1
