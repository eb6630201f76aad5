"""Score batches on the spot: bounded in number and time, and never waiting for a request that will not end.

Plain asyncio tasks instead of a task group: a group waits for its tasks however long they ignore their cancellation,
and a decision model is a stranger's code.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from reme_compact.decision.asking import UNUSABLE, ask
from reme_compact.decision.batching import Batch
from reme_compact.decision.health import DecisionModelHealth
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.decision.protocol import DecisionModel
from reme_compact.decision.scorer import TIMED_OUT, Report, Scoring

CANCELLATION_GRACE_SECONDS = 1.0
"""How long a cancelled request may take to end before it is abandoned."""

_log = logging.getLogger(__name__)
_abandoned: set[asyncio.Task[None]] = set()


class DirectScorer:
    """A `Scorer` that awaits a decision model on the running event loop.

    Args:
        model: the decision model; it is borrowed.
        health: is told how each request ended.
        now: tells the time, with its zone.
    """

    def __init__(self, model: DecisionModel, health: DecisionModelHealth, now: Callable[[], datetime]) -> None:
        self._model = model
        self._health = health
        self._now = now

    async def score(
        self,
        batches: Sequence[Batch],
        *,
        max_concurrency: int,
        deadline: float,
        known: Mapping[str, BatchOutcome],
        report: Report,
    ) -> Scoring:
        """Score batches until the deadline (see `Scorer.score`).

        Cancellation from outside propagates once the requests in flight have ended, or after
        `CANCELLATION_GRACE_SECONDS`.
        """
        window = _Window(self._model, batches, deadline, report, self._note)
        if known:
            window.take_known(known)
        scoring = await window.run(max_concurrency)
        if scoring.requests > len(scoring.outcomes):
            self._health.failed(self._now(), TIMED_OUT)
        return scoring

    def _note(self, outcome: BatchOutcome) -> None:
        if outcome.error is not None:
            self._health.failed(self._now(), outcome.error)
        elif outcome.has_probability:
            self._health.worked(self._now())
        else:
            self._health.failed(self._now(), UNUSABLE.fields())


class _Window:
    """The batches of one compaction on their way through a decision model."""

    def __init__(
        self,
        model: DecisionModel,
        batches: Sequence[Batch],
        deadline: float,
        report: Report,
        note: Callable[[BatchOutcome], None],
    ) -> None:
        self._model = model
        self._batches = batches
        self._waiting = list(range(len(batches) - 1, -1, -1))
        self._deadline = deadline
        self._report = report
        self._note = note
        self._scoring = Scoring()
        self._closed = False

    def take_known(self, known: Mapping[str, BatchOutcome]) -> None:
        """Take outcomes of an earlier attempt, so that nothing is asked twice."""
        for index, batch in enumerate(self._batches):
            outcome = known.get(batch.key())
            if outcome is not None:
                self._scoring.requests += 1
                self._take(index, outcome)
        self._waiting = [index for index in self._waiting if index not in self._scoring.outcomes]

    async def run(self, max_concurrency: int) -> Scoring:
        loop = asyncio.get_running_loop()
        workers = {
            asyncio.create_task(self._work(), name="reme-compact-decision")
            for _ in range(min(max_concurrency, len(self._waiting)))
        }
        try:
            if workers:
                await asyncio.wait(workers, timeout=max(0.0, self._deadline - loop.time()))
        finally:
            self._closed = True
            await _end(workers)
        for worker in workers:
            if worker.done() and not worker.cancelled():
                worker.result()
        self._scoring.never_asked = set(self._waiting)
        return self._scoring

    async def _work(self) -> None:
        while self._waiting and self._scoring.stopped_by is None and not self._is_over():
            index = self._waiting.pop()
            self._scoring.requests += 1
            outcome = await ask(self._model, self._batches[index], is_cancelled=lambda: self._closed)
            if not self._is_over():
                self._take(index, outcome)
                self._note(outcome)
                await self._report(self._batches[index], outcome)
            # A model that answers without waiting would otherwise keep the event loop for all batches in a row.
            await asyncio.sleep(0)

    def _take(self, index: int, outcome: BatchOutcome) -> None:
        self._scoring.outcomes[index] = outcome
        if outcome.fatal:
            self._scoring.stopped_by = outcome.error

    def _is_over(self) -> bool:
        """Tell whether an answer that arrives now comes too late to count."""
        return self._closed or asyncio.get_running_loop().time() >= self._deadline


async def _end(workers: set[asyncio.Task[None]]) -> None:
    """Cancel what still runs and wait for it, at most the grace period; repeated cancellation cannot cut it short."""
    running = {worker for worker in workers if not worker.done()}
    for worker in running:
        worker.cancel()
    loop = asyncio.get_running_loop()
    limit = loop.time() + CANCELLATION_GRACE_SECONDS
    interrupted: asyncio.CancelledError | None = None
    while running and loop.time() < limit:
        try:
            _, running = await asyncio.wait(running, timeout=limit - loop.time())
        except asyncio.CancelledError as error:
            interrupted = error
            running = {worker for worker in running if not worker.done()}
    for worker in running:
        _abandon(worker)
    if interrupted is not None:
        raise interrupted


def _abandon(worker: asyncio.Task[None]) -> None:
    """Let a request that ignores its cancellation run on, its answer discarded."""
    _log.error(
        "A decision request did not end within %s s of its cancellation; it is abandoned.", CANCELLATION_GRACE_SECONDS
    )
    _abandoned.add(worker)
    worker.add_done_callback(_forget)


def _forget(worker: asyncio.Task[None]) -> None:
    _abandoned.discard(worker)
    if not worker.cancelled():
        # Reading the exception keeps asyncio from reporting an error that nobody waits for.
        worker.exception()
