-- Decide whether a queued job has to be run now: its total time counts from acceptance and has passed.
local deadline = redis.call('ZSCORE', deadlines, job_id)
return deadline and text('status') == 'queued' and now >= tonumber(deadline) and 1 or 0
