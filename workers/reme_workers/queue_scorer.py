"""Score the batches of one job through the queue `scores`."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence

import redis
from anyio import CancelScope, move_on_after

from reme_compact.contract.errors import StoreUnavailableError
from reme_compact.decision.batching import Batch
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.decision.scorer import Report, Scoring
from reme_workers.batch_messages import batches_per_message
from reme_workers.outstanding import WORKER_LOST, Outstanding
from reme_workers.scoring_queue import ScoringQueue

_LOOK_EVERY_SECONDS = 0.5
_GATHER_SECONDS = 0.002
_RETRY_SECONDS = 0.2

_log = logging.getLogger(__name__)


class QueueScorer:
    """A `Scorer` for one job, whose batches scores workers ask about.

    Outcomes are recorded by the worker that brought them, and the scorer sees them in the record; `report` need not
    record them again. What a lost worker or a lost message leaves unanswered is sent again.

    Args:
        job_id: the job; its lease is held in this process.
        queue: the way to the workers, shared by all jobs of this process.
    """

    def __init__(self, job_id: str, queue: ScoringQueue) -> None:
        self._job_id = job_id
        self._queue = queue

    async def score(
        self,
        batches: Sequence[Batch],
        *,
        max_concurrency: int,
        deadline: float,
        known: Mapping[str, BatchOutcome],
        report: Report,
    ) -> Scoring:
        """Score batches until the deadline (see `Scorer.score`); cancellation propagates at once."""
        loop = asyncio.get_running_loop()
        scoring = Scoring(never_asked=set(range(len(batches))))
        with CancelScope(deadline=deadline):
            # Hashing large requests takes a while.
            keys = await asyncio.to_thread(lambda: [batch.key() for batch in batches])
            window = Outstanding(keys, max_concurrency)
            window.take_known(known)
            way = _Way(self._job_id, self._queue, dict(zip(keys, batches, strict=True)), window, report)
            try:
                await way.drive(until=time.time() + deadline - loop.time())
            finally:
                scoring = window.finish()
        return scoring


class _Way:
    """Sends the batches of one compaction and sees what comes back."""

    def __init__(
        self,
        job_id: str,
        queue: ScoringQueue,
        batches: Mapping[str, Batch],
        window: Outstanding,
        report: Report,
    ) -> None:
        self._job_id = job_id
        self._queue = queue
        self._batches = batches
        self._window = window
        self._report = report
        self._next_look = time.monotonic() + _LOOK_EVERY_SECONDS

    async def drive(self, until: float) -> None:
        window = self._window
        with self._queue.listening(self._job_id) as bell:
            while not window.is_over:
                try:
                    await self._send(until)
                    with move_on_after(self._next_look - time.monotonic()):
                        await bell.wait()
                    if len(window.sent) > 1:
                        # What ends together is refilled together: one message for many costs what one for one does.
                        await asyncio.sleep(_GATHER_SECONDS)
                    await self._receive()
                    await self._look_now_and_then(until)
                except (StoreUnavailableError, redis.RedisError) as error:
                    # Whether the job is still this process's to run is for whoever renews its lease to find out.
                    _log.warning("scoring waits: Redis cannot be reached (%s)", type(error).__name__)
                    await asyncio.sleep(_RETRY_SECONDS)

    async def _send(self, until: float) -> None:
        window = self._window
        if not window.free:
            return
        size = batches_per_message(window.max_concurrency, await self._queue.live_processes())
        while window.free:
            async with self._queue.turn():
                if window.sent:
                    await self._receive()
                if keys := window.next_message(size, time.monotonic()):
                    await self._publish_or_take_back(keys, until)

    async def _publish_or_take_back(self, keys: Sequence[str], until: float) -> None:
        try:
            await self._publish(keys, until)
        except StoreUnavailableError:
            self._window.not_sent(keys)
            raise

    async def _publish(self, keys: Sequence[str], until: float) -> None:
        await self._queue.publish(self._job_id, [(key, self._batches[key]) for key in keys], until)

    async def _receive(self) -> None:
        if sent := self._window.sent:
            await self._take(await self._queue.outcomes(self._job_id, sent))

    async def _take(self, outcomes: Mapping[str, BatchOutcome]) -> None:
        for key in self._window.receive(outcomes):
            await self._report(self._batches[key], outcomes[key])

    async def _look_now_and_then(self, until: float) -> None:
        """Find out what was lost, send it again, and give up what was lost too often."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_EVERY_SECONDS
        if not (overdue := self._window.overdue(now)):
            return
        again, given_up = self._window.lost(await self._queue.look(self._job_id, overdue), now)
        if again:
            _log.warning("%d decision requests were lost with their worker or message; they are sent again", len(again))
            await self._publish(again, until)
        for key in given_up:
            outcome = BatchOutcome(error=WORKER_LOST.fields())
            if await self._queue.store.scored(self._job_id, self._batches[key], outcome):
                await self._take({key: outcome})
