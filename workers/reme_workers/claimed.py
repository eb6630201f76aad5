"""The batches of one message that this process has claimed and not asked about yet."""

import time
from collections.abc import Mapping

import anyio

from reme_compact.decision.batching import Batch
from reme_workers.claims import Claims
from reme_workers.heartbeat import LIVE_MILLISECONDS

_JOB_FRESH_SECONDS = 0.05
"""How old it may be that the job ran: half of how soon after a cancellation no request may start any more."""

_CLAIMS_FRESH_SECONDS = LIVE_MILLISECONDS / 4000
"""Nobody takes claims away from a process that was heard of more recently than several times this long ago."""


class Claimed:
    """Gives batches to be asked about, as long as the job runs and the claims hold.

    That is looked at again before a request, so that a cancelled job starts no more; one look serves all requests that
    begin at about the same time, and that an outcome could be recorded says as much about the job.

    Args:
        claims: on the batches of all jobs.
        job_id: the job.
        process: this one, as it is named in claims.
        batches: what it has claimed, by key, in the order in which they are asked about.
    """

    def __init__(self, claims: Claims, job_id: str, process: str, batches: Mapping[str, Batch]) -> None:
        self.job_id = job_id
        self._claims = claims
        self._process = process
        self._waiting = dict(batches)
        self._turn = anyio.Lock()
        self._job_ran_at = self._claims_held_at = time.monotonic()

    @property
    def has_waiting(self) -> bool:
        """Whether there is anything left to ask about."""
        return bool(self._waiting)

    def note(self, job_ran_at: float | None) -> None:
        """Note when the job still ran, a reading of `time.monotonic`; null: maybe not any more, so look again."""
        self._job_ran_at = float("-inf") if job_ran_at is None else max(self._job_ran_at, job_ran_at)

    async def next_wanted(self) -> Batch | None:
        """Return the next batch that is still to be asked about; null: there is none.

        Raises:
            redis.RedisError: the server does not answer.
        """
        asked_at = time.monotonic()
        if self._waiting and not self._is_fresh(asked_at):
            async with self._turn:
                # For whoever waited for its turn, somebody else has looked, however long that took.
                if not self._is_fresh(asked_at):
                    await self._look()
        if not self._waiting:
            return None
        return self._waiting.pop(next(iter(self._waiting)))

    async def drop_waiting(self) -> None:
        """Let go of everything that is left: asking about it cannot help.

        Raises:
            redis.RedisError: the server does not answer.
        """
        keys = list(self._waiting)
        self._waiting.clear()
        if keys:
            await self._claims.give_back(self.job_id, keys, self._process)

    def _is_fresh(self, asked_at: float) -> bool:
        is_job_fresh = asked_at - self._job_ran_at <= _JOB_FRESH_SECONDS
        return is_job_fresh and asked_at - self._claims_held_at <= _CLAIMS_FRESH_SECONDS

    async def _look(self) -> None:
        asked_at = time.monotonic()
        wanted = await self._claims.still_wanted(self.job_id, list(self._waiting), self._process)
        self._waiting = {key: batch for key, batch in self._waiting.items() if key in wanted}
        self._job_ran_at = self._claims_held_at = asked_at
