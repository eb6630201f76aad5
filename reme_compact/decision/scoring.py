"""Ask a decision model about batches: bounded in number and time, and never waiting for one that will not end.

Plain asyncio tasks instead of a task group: a group waits for its tasks however long they ignore their cancellation,
and a decision model is a stranger's code.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from reme_compact.contract.errors import DecisionModelError
from reme_compact.contract.exception_places import exception_places
from reme_compact.decision.answers import usage_of
from reme_compact.decision.batching import Batch
from reme_compact.decision.failures import classify_failure
from reme_compact.decision.health import DecisionModelHealth
from reme_compact.decision.protocol import DecisionModel
from reme_compact.decision.verdicts import Verdicts, read_answer
from reme_compact.history.private_copy import private_copy

CANCELLATION_GRACE_SECONDS = 1.0
"""How long a cancelled request may take to end before it is abandoned."""

_NO_PROBABILITIES = DecisionModelError(
    "The decision model answered, but with no probability for any result.", code="invalid_answer"
)

_log = logging.getLogger(__name__)
_abandoned: set[asyncio.Task[None]] = set()


class BatchScoring:
    """One compaction's batches on their way through a decision model."""

    def __init__(
        self,
        model: DecisionModel,
        batches: Sequence[Batch],
        *,
        deadline: float,
        health: DecisionModelHealth,
        now: Callable[[], datetime],
    ) -> None:
        """Prepare scoring; `deadline` is a time of the running event loop."""
        self._model = model
        self._waiting = list(reversed(batches))
        self._batches = batches
        self._deadline = deadline
        self._health = health
        self._now = now
        self._verdicts = Verdicts()
        self._closed = False
        self._stop: DecisionModelError | None = None

    async def run(self, max_concurrency: int) -> Verdicts:
        """Score all batches, at most `max_concurrency` at once, and return what had come by the deadline.

        Cancellation from outside propagates once the requests in flight have ended, or after
        `CANCELLATION_GRACE_SECONDS`.
        """
        loop = asyncio.get_running_loop()
        workers = {
            asyncio.create_task(self._work(), name="reme-compact-decision")
            for _ in range(min(max_concurrency, len(self._batches)))
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
        self._account_for_missing()
        return self._verdicts

    async def _work(self) -> None:
        while self._waiting and self._stop is None and not self._is_over():
            await self._ask(self._waiting.pop())
            # A model that answers without waiting would otherwise keep the event loop for all batches in a row.
            await asyncio.sleep(0)

    async def _ask(self, batch: Batch) -> None:
        self._verdicts.requests += 1
        try:
            # The model gets copies: what it does to them must not reach other batches or the accounting.
            awaitable = self._model(private_copy(batch.state), batch.questions())
            if not inspect.isawaitable(awaitable):
                raise DecisionModelError(
                    f"The decision model must return an awaitable; it returned {type(awaitable).__name__}.",
                    code="invalid_decision_model",
                    fatal=True,
                )
            response = await awaitable
        except (asyncio.CancelledError, GeneratorExit):
            if self._closed:
                raise
            self._fail(batch, DecisionModelError("The decision model cancelled its own request.", code="cancelled"))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a stranger's code; whatever it raises means keep
            if not self._is_over():
                self._fail(batch, _classified(error), cause=error)
        else:
            if not self._is_over():
                self._read(batch, response)

    def _read(self, batch: Batch, response: Any) -> None:
        try:
            content = response.content
            verdicts = {unit: read_answer(content.get(unit)) for unit in batch.unit_ids}
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - as above
            self._fail(batch, _unreadable(response, error), cause=error)
            return
        self._verdicts.by_unit.update(verdicts)
        if any(verdict.probability is not None for verdict in verdicts.values()):
            self._health.worked(self._now())
        else:
            self._health.failed(self._now(), _NO_PROBABILITIES.fields())
            _log.warning("A decision request brought nothing: %s", _NO_PROBABILITIES.message)
        self._note_usage(response)

    def _note_usage(self, response: Any) -> None:
        try:
            usage = usage_of(getattr(response, "usage", None))
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - as above
            self._warn_once("The decision model reported a usage that is not JSON; it is left out of stats.usage.")
            return
        if usage is not None:
            self._verdicts.usage.append(usage)

    def _fail(self, batch: Batch, error: DecisionModelError, *, cause: BaseException | None = None) -> None:
        fields = error.fields()
        self._verdicts.fail(batch.unit_ids, "model_error", fields)
        self._health.failed(self._now(), fields)
        where = f": {exception_places(cause)}" if cause is not None else ""
        _log.warning("A decision request failed: %s (%s)%s", fields["message"], fields["code"], where)
        if error.fatal:
            self._stop = error

    def _account_for_missing(self) -> None:
        """Give a reason to every unit whose batch was never asked, or never answered in time."""
        stop = self._stop
        never_asked = {id(batch) for batch in self._waiting}
        for batch in self._batches:
            if all(unit in self._verdicts.by_unit for unit in batch.unit_ids):
                continue
            if stop is not None and id(batch) in never_asked:
                self._verdicts.fail(batch.unit_ids, "model_error", stop.fields())
                continue
            late = DecisionModelError("No answer within total_timeout_seconds.", code="timeout").fields()
            self._verdicts.fail(batch.unit_ids, "timeout", late)
            self._health.failed(self._now(), late)
            _log.warning("A decision request failed: %s (%s)", late["message"], late["code"])

    def _warn_once(self, warning: str) -> None:
        if warning not in self._verdicts.warnings:
            self._verdicts.warnings.append(warning)

    def _is_over(self) -> bool:
        """Tell whether an answer that arrives now comes too late to count."""
        return self._closed or asyncio.get_running_loop().time() >= self._deadline


def _classified(error: BaseException) -> DecisionModelError:
    """Name a failure; looking at a stranger's exception may itself fail."""
    try:
        return classify_failure(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - as above
        return DecisionModelError(f"The decision model failed ({type(error).__name__}).")


def _unreadable(response: Any, error: BaseException) -> DecisionModelError:
    """Say what was wrong with a response as a whole."""
    kind = type(response).__name__
    return DecisionModelError(
        f"The decision model must return a DecisionResponse, or anything with answers by question name in .content; "
        f"it returned {kind} ({type(error).__name__}).",
        code="invalid_response",
    )


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
