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
from reme_workers.batch_messages import share_of_message
from reme_workers.claims import Whereabouts
from reme_workers.doorbell import Bell
from reme_workers.outstanding import WORKER_LOST, Message, Outstanding
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
        self._rang_about: set[str] = set()

    async def drive(self, until: float) -> None:
        window = self._window
        with self._queue.listening(self._job_id) as bell:
            while not window.is_over:
                try:
                    await self._send(bell, until)
                    with move_on_after(self._next_look - time.monotonic()):
                        await bell.wait()
                    if len(window.sent) > 1:
                        # What ends together is refilled together: one message for many costs what one for one does.
                        await asyncio.sleep(_GATHER_SECONDS)
                    await self._receive(bell)
                    await self._look_now_and_then(bell)
                except (StoreUnavailableError, redis.RedisError) as error:
                    # Whether the job is still this process's to run is for whoever renews its lease to find out.
                    _log.warning("scoring waits: Redis cannot be reached (%s)", type(error).__name__)
                    await asyncio.sleep(_RETRY_SECONDS)

    async def _send(self, bell: Bell, until: float) -> None:
        window = self._window
        if not window.free:
            return
        share = share_of_message(window.max_concurrency, await self._queue.live_processes())
        while window.free:
            async with self._queue.turn():
                await self._receive(bell)
                if message := window.next_message(share, time.monotonic()):
                    await self._publish_or_take_back(message, until)

    async def _publish_or_take_back(self, message: Message, until: float) -> None:
        contents = [(key, self._batches[key]) for key in message.keys]
        try:
            await self._queue.publish(self._job_id, contents, until, message.at_once)
        except StoreUnavailableError:
            self._window.not_sent(message.keys)
            raise

    async def _receive(self, bell: Bell) -> None:
        sent, rang_about = self._window.sent, bell.heard()
        if rang_about is not None:
            # It may have rung about what is only sent now, since an earlier attempt had sent it too.
            self._rang_about |= rang_about
        wanted = sent if rang_about is None else [key for key in sent if key in self._rang_about]
        self._rang_about.difference_update(wanted)
        if wanted:
            try:
                outcomes = await self._queue.outcomes(self._job_id, wanted)
            except StoreUnavailableError:
                bell.ring()
                raise
            await self._take(outcomes)

    async def _take(self, outcomes: Mapping[str, BatchOutcome]) -> None:
        for key in self._window.receive(outcomes):
            await self._report(self._batches[key], outcomes[key])

    async def _look_now_and_then(self, bell: Bell) -> None:
        """Find out what was lost, so that it is sent again, and give up what was lost too often."""
        window = self._window
        now = time.monotonic()
        if window.is_stopped and window.sent:
            look = await self._queue.look(self._job_id, window.sent)
            # Whoever had these has let go of them, or will not begin.
            window.not_sent(key for key, where in look.batches.items() if where is Whereabouts.UNCLAIMED)
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_EVERY_SECONDS
        if not (overdue := window.overdue(now)):
            return
        look = await self._queue.look(self._job_id, overdue)
        if Whereabouts.ANSWERED in look.batches.values():
            bell.ring()
        again, given_up = window.lost(look)
        if again:
            _log.warning("%d decision requests were lost with their worker or message; they are sent again", len(again))
        for key in given_up:
            outcome = BatchOutcome(error=WORKER_LOST.fields())
            if await self._queue.store.scored(self._job_id, self._batches[key], outcome):
                await self._take({key: outcome})
