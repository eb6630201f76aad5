"""Run one job whose lease is held, to its end."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from anyio import CancelScope, create_task_group, move_on_after, sleep, to_thread

from reme_compact.compaction.compactor import Compactor
from reme_compact.contract.errors import ErrorFields, ReMeError, StoreUnavailableError
from reme_compact.contract.exception_places import exception_places
from reme_compact.contract.json_bytes import response_pieces
from reme_compact.decision.batching import Batch
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.log_context import logging_for_job
from reme_compact.jobs.observation import UNOBSERVED, JobObserver, RunEnd
from reme_compact.jobs.record import Lease, session_owner
from reme_compact.jobs.store import JobStore

_RELEASE_SECONDS = 1.0
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 0.5

INTERNAL_ERROR = ErrorFields(
    code="internal_error",
    error="InternalError",
    message="The job failed unexpectedly; the log of the process that ran it tells where, under the job's id.",
    retryable=False,
)
"""What becomes of a job that failed in a way that nobody foresaw."""

_log = logging.getLogger(__name__)
Result = TypeVar("Result")


async def execute(
    store: JobStore,
    lease: Lease,
    compactor: Compactor,
    *,
    renew_every_seconds: float | None = None,
    records_outcomes: bool = True,
    patience_seconds: float = 30.0,
    observer: JobObserver = UNOBSERVED,
) -> None:
    """Make the proposal of a job and record what becomes of it.

    The compaction is cancelled as soon as the lease is lost, for instance because the job was cancelled. A failure
    finishes the job with its four fields; one that nobody foresaw is logged and becomes `internal_error`.

    Args:
        store: where the job is.
        lease: the right to run it.
        compactor: makes the proposal.
        renew_every_seconds: how often the lease is renewed, a third of what it lasts; null: it need not be.
        records_outcomes: whether each outcome is recorded here; false: whoever asks the decision model does it.
        patience_seconds: how long a store that cannot be reached is tried again before that is raised.
        observer: is told of this run.

    Raises:
        StoreUnavailableError: the store could not be reached for too long; the job is run again when the lease has
            lapsed.
        CancelledError: the cancellation came from outside; the lease was given back, so that another process can
            go on at once.
    """
    execution = _Execution(store, lease, records_outcomes, patience_seconds, observer)
    with logging_for_job(lease.job_id):
        observer.job_started(lease.job_id, attempt=lease.attempt)
        failure: Exception | None = None
        try:
            async with create_task_group() as company:
                company.start_soon(execution.watch)
                if renew_every_seconds is not None:
                    company.start_soon(execution.renew, renew_every_seconds)
                try:
                    await execution.work(compactor)
                except Exception as error:  # noqa: BLE001 - kept out of the task group, which would wrap it in a group
                    failure = error
                company.cancel_scope.cancel()
        except asyncio.CancelledError:
            execution.end = "released"
            with move_on_after(_RELEASE_SECONDS, shield=True):
                await execution.give_back()
            raise
        finally:
            observer.job_finished(
                lease.job_id, execution.end, seconds=execution.running_seconds(), proposal=execution.proposal
            )
        if failure is not None:
            raise failure


@dataclass(slots=True)
class _Execution:
    """One run of a job; also the `Progress` that its compaction reports to.

    Attributes:
        end: how the run ended.
        proposal: what it proposed, if it did.
    """

    store: JobStore
    lease: Lease
    records_outcomes: bool
    patience_seconds: float
    observer: JobObserver
    end: RunEnd = "lost"
    proposal: dict[str, Any] | None = None
    _began: float = field(init=False)
    _compaction: CancelScope = field(default_factory=CancelScope)

    def __post_init__(self) -> None:
        self._began = asyncio.get_running_loop().time() - self.lease.running_seconds

    def running_seconds(self) -> float:
        """Return how much time has passed since the first start."""
        return asyncio.get_running_loop().time() - self._began

    async def watch(self) -> None:
        """Cancel the compaction as soon as the lease is lost."""
        while True:
            try:
                await self.store.lost(self.lease)
            except StoreUnavailableError:
                await sleep(_LONGEST_PAUSE_SECONDS)
            else:
                self._compaction.cancel()
                return

    async def renew(self, every_seconds: float) -> None:
        """Renew the lease until it is lost; a store that cannot be reached is tried again at the next turn."""
        while True:
            await sleep(every_seconds)
            try:
                is_held = await self.store.renew(self.lease)
            except StoreUnavailableError:
                _log.warning("The lease of a job could not be renewed; the store cannot be reached.")
                continue
            if not is_held:
                self._compaction.cancel()
                return

    async def work(self, compactor: Compactor) -> None:
        """Make the proposal and finish the job, unless the lease is lost first."""
        pieces: list[bytes] = []
        error: ErrorFields | None = None
        with self._compaction:
            try:
                pieces = await self._propose(compactor)
            except StoreUnavailableError:
                raise
            except ReMeError as failure:
                error = failure.fields()
            except Exception as failure:  # noqa: BLE001 - whatever it is, the job must end
                _log.error("A job failed unexpectedly: %s", exception_places(failure))
                error = INTERNAL_ERROR
        if self._compaction.cancelled_caught:
            await self._account_for_loss()
            return
        if error is not None:
            self.end = "failed"
            is_held = await self._insist(partial(self.store.fail, self.lease, error))
        else:
            self.end = "succeeded"
            is_held = await self._insist(partial(self.store.succeed, self.lease, pieces))
        if not is_held:
            await self._account_for_loss()

    async def give_back(self) -> None:
        """Release the lease; a store that cannot be reached lets it lapse."""
        try:
            await self.store.release(self.lease)
        except StoreUnavailableError:
            _log.warning("The lease of a job could not be given back; it goes on when the lease has lapsed.")

    async def planned(self, *, candidates: int, asked: int, batches: int) -> None:
        """Record the plan."""
        plan = {"candidates": candidates, "asked": asked, "batches": batches}
        self.observer.planned(self.lease.job_id, **plan)
        await self._insist(partial(self.store.planned, self.lease, **plan))

    async def scored(self, batch: Batch, outcome: BatchOutcome) -> None:
        """Record an outcome."""
        self.observer.batch_scored(self.lease.job_id, outcome)
        if self.records_outcomes:
            await self._insist(partial(self.store.scored, self.lease.job_id, batch, outcome))

    async def deciding(self) -> None:
        """Record that all verdicts are there."""
        self.observer.deciding(self.lease.job_id)
        await self._insist(partial(self.store.deciding, self.lease))

    async def _propose(self, compactor: Compactor) -> list[bytes]:
        lease = self.lease
        response = await compactor.compact(
            lambda: lease.request,
            started=self._began,
            known=lease.known,
            progress=self,
            owner=session_owner(lease.owner),
        )
        self.proposal = response.answer
        return await to_thread.run_sync(response_pieces, dict(response), abandon_on_cancel=True)

    async def _account_for_loss(self) -> None:
        """Tell the store that nothing is done for the job any more, and find out why the lease was lost."""
        self.end = "lost"
        await self.give_back()
        try:
            document = await self.store.get(self.lease.job_id, None)
        except ReMeError:
            return
        if document.status == "cancelled":
            self.end = "cancelled"

    async def _insist(self, record: Callable[[], Awaitable[Result]]) -> Result:
        """Record something; a store that restarts is waited for.

        Raises:
            StoreUnavailableError: it did not come back in time.
        """
        loop = asyncio.get_running_loop()
        limit = loop.time() + self.patience_seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                return await record()
            except StoreUnavailableError:
                if loop.time() >= limit:
                    raise
            await sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
