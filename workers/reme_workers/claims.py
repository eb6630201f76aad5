"""Which process works on which batch, so that a lost one is asked again and a slow one is not.

A claim is a field of a hash per job, batch to process. It holds as long as the process's heart beats.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from redis.asyncio import Redis

from reme_compact.decision.batching import Batch
from reme_workers.batch_messages import unpack_batch
from reme_workers.celery_app import SCORES_QUEUE, celery_key
from reme_workers.heartbeat import LIVE_MILLISECONDS, NOW, heartbeats_key
from reme_workers.keys import Keys

_EXPIRE_AFTER_MILLISECONDS = 60_000

_CLAIM = f"""{NOW}
if redis.call('HGET', KEYS[1], 'status') ~= 'running' then return {{}} end
local found = {{}}
redis.call('ZADD', KEYS[4], now, ARGV[1])
for i = 3, #ARGV do
  if redis.call('HEXISTS', KEYS[2], ARGV[i]) == 0 then
    local holder = redis.call('HGET', KEYS[3], ARGV[i])
    local seen = holder and redis.call('ZSCORE', KEYS[4], holder)
    local content = redis.call('GET', KEYS[i + 2])
    if content and not (seen and now - seen < {LIVE_MILLISECONDS}) then
      redis.call('HSET', KEYS[3], ARGV[i], ARGV[1])
      found[#found + 1] = ARGV[i]
      found[#found + 1] = content
    end
  end
end
redis.call('PEXPIREAT', KEYS[3], ARGV[2])
return found
"""

_STILL_WANTED = """
local wanted = {}
if redis.call('HGET', KEYS[1], 'status') ~= 'running' then return wanted end
for i = 2, #ARGV do
  if redis.call('HGET', KEYS[2], ARGV[i]) == ARGV[1] then wanted[#wanted + 1] = ARGV[i] end
end
return wanted
"""

_LET_GO = """
for i = 2, #ARGV do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[1] then redis.call('HDEL', KEYS[1], ARGV[i]) end
end
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 1
"""

_LOOK = f"""{NOW}
local found = {{redis.call('LLEN', KEYS[4])}}
for i, key in ipairs(ARGV) do
  local holder = redis.call('HGET', KEYS[2], key)
  local seen = holder and redis.call('ZSCORE', KEYS[3], holder)
  if redis.call('HEXISTS', KEYS[1], key) == 1 then found[i + 1] = 0
  elseif not holder then found[i + 1] = 3
  elseif seen and now - seen < {LIVE_MILLISECONDS} then found[i + 1] = 1
  else found[i + 1] = 2 end
end
return found
"""


class Whereabouts(IntEnum):
    """Where a batch is that was sent."""

    ANSWERED = 0
    CLAIMED = 1
    ORPHANED = 2  # claimed by a process that is gone
    UNCLAIMED = 3


@dataclass(frozen=True, slots=True)
class Look:
    """Where batches are, and how many messages wait in the queue.

    Attributes:
        batches: by key.
        queued: messages of all jobs.
    """

    batches: dict[str, Whereabouts]
    queued: int


class Claims:
    """The claims on the batches of all jobs, and what the batches ask.

    Every method may raise `redis.RedisError`.
    """

    def __init__(self, client: Redis, prefix: str) -> None:
        self._keys = Keys(prefix)
        self._workers = heartbeats_key(prefix, "scores")
        self._queue = celery_key(prefix, SCORES_QUEUE)
        self._claim: Any = client.register_script(_CLAIM)
        self._still_wanted: Any = client.register_script(_STILL_WANTED)
        self._let_go: Any = client.register_script(_LET_GO)
        self._look: Any = client.register_script(_LOOK)

    def content_key(self, job_id: str, key: str) -> str:
        """Return the Redis key of what a batch asks."""
        return f"{self._keys.prefix}job:{{{job_id}}}:batch:{key}"

    def claims_key(self, job_id: str) -> str:
        """Return the Redis key of a job's claims."""
        return f"{self._keys.prefix}job:{{{job_id}}}:claims"

    async def take(self, job_id: str, keys: Sequence[str], process: str, until: float) -> dict[str, Batch]:
        """Claim batches for a process and read them.

        Left out is what need not be asked: all if the job does not run, what is answered, what another live process
        has claimed, and what is no longer there.
        """
        contents = [self.content_key(job_id, key) for key in keys]
        record, outcomes, claims = self._keys.record(job_id), self._keys.outcomes(job_id), self.claims_key(job_id)
        expire_at = int(until * 1000) + _EXPIRE_AFTER_MILLISECONDS
        found: list[bytes] = await self._claim(
            keys=[record, outcomes, claims, self._workers, *contents], args=[process, expire_at, *keys]
        )
        named = [(key.decode(), packed) for key, packed in zip(found[::2], found[1::2], strict=True)]
        return {key: unpack_batch(packed, key) for key, packed in named}

    async def still_wanted(self, job_id: str, keys: Sequence[str], process: str) -> set[str]:
        """Return the batches that the process still has claimed; none if the job does not run any more."""
        asked = [self._keys.record(job_id), self.claims_key(job_id)]
        return {key.decode() for key in await self._still_wanted(keys=asked, args=[process, *keys])}

    async def give_back(self, job_id: str, keys: Sequence[str], process: str) -> None:
        """Let go of batches that another process shall take."""
        await self._let_go(keys=[self.claims_key(job_id)], args=[process, *keys])

    async def finish(self, job_id: str, keys: Sequence[str], process: str) -> None:
        """Let go of batches that nobody needs to take, and remove what they ask."""
        contents = [self.content_key(job_id, key) for key in keys]
        await self._let_go(keys=[self.claims_key(job_id), *contents], args=[process, *keys])

    async def look(self, job_id: str, keys: Sequence[str]) -> Look:
        """Find out where batches are."""
        found = await self._look(
            keys=[self._keys.outcomes(job_id), self.claims_key(job_id), self._workers, self._queue], args=keys
        )
        return Look(dict(zip(keys, map(Whereabouts, found[1:]), strict=True)), int(found[0]))
