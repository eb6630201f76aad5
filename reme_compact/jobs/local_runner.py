"""Run jobs on the event loop of this process.

Plain asyncio tasks instead of a task group: a group waits for its tasks however long they take to end, and the
service has to stop in time.
"""

import asyncio
import contextlib
import logging
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from reme_compact.compaction.compactor import Compactor
from reme_compact.contract.errors import ReMeError, ServiceStoppingError
from reme_compact.contract.exception_places import exception_places
from reme_compact.jobs.clock import Clock, utc_now
from reme_compact.jobs.execution import INTERNAL_ERROR, execute
from reme_compact.jobs.memory_store import MemoryStore
from reme_compact.jobs.observation import UNOBSERVED, JobObserver
from reme_compact.jobs.record import Lease
from reme_compact.jobs.runner import MissingPart
from reme_compact.presets.schema import ExecutionSettings

_LETTING_GO_SECONDS = 1.5
"""How long running jobs may take to end when the runner is left; a decision request gets one second of it."""

_LONGEST_PAUSE_SECONDS = 30.0
_HOLDER = "local"
_NEVER = datetime.max.replace(tzinfo=UTC)

_log = logging.getLogger(__name__)
_abandoned: set[asyncio.Task[None]] = set()


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A queued job.

    Attributes:
        start_before: when it ends as `timed_out`.
        deadline: when its total time is over, and it is started although there is no free place.
    """

    start_before: datetime
    deadline: datetime = _NEVER

    @property
    def next_look(self) -> datetime:
        return min(self.start_before, self.deadline)


class LocalRunner:
    """A `Runner` in the service's own process: the first come is the first to be run, so many at once.

    A queued job whose total time counts from acceptance is started when that is over, beside those many: its proposal
    is made from no verdicts, and the decision model is asked nothing.

    Leaving it ends every job as failed, with the code `stopping`: what is kept in memory ends with the service.

    Args:
        store: where the jobs are.
        compactor: makes the proposals.
        settings: how many jobs run at once, and how often what has expired is removed.
        now: tells the time; the same as the store's.
        observer: is told of every run.
    """

    def __init__(
        self,
        store: MemoryStore,
        compactor: Compactor,
        settings: ExecutionSettings,
        *,
        now: Clock = utc_now,
        observer: JobObserver = UNOBSERVED,
    ) -> None:
        self._store = store
        self._compactor = compactor
        self._settings = settings
        self._now = now
        self._observer = observer
        self._queue: OrderedDict[str, _Waiting] = OrderedDict()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._late: set[str] = set()
        self._sweeper: asyncio.Task[None] | None = None
        self._sooner = asyncio.Event()
        self._is_stopping = False

    async def __aenter__(self) -> Self:
        """Start to run jobs."""
        self._sweeper = asyncio.create_task(self._sweep_when_due(), name="reme-compact-sweeper")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every job, within two seconds."""
        self._is_stopping = True
        self._queue.clear()
        await self._store.fail_all(ServiceStoppingError().fields())
        tasks = set(self._running.values())
        if self._sweeper is not None:
            self._sweeper.cancel()
            tasks.add(self._sweeper)
        try:
            await asyncio.wait(tasks, timeout=_LETTING_GO_SECONDS)
        finally:
            for task in tasks:
                if not task.done():
                    _abandon(task)

    async def submit(self, job_id: str, start_before: datetime) -> None:
        """Queue a job; without effect if it is queued or running here.

        Raises:
            ServiceStoppingError: no job is run any more.
        """
        if self._is_stopping or self._sweeper is None:
            raise ServiceStoppingError
        if job_id in self._queue or job_id in self._running:
            return
        self._queue[job_id] = _Waiting(start_before, self._store.deadline_of(job_id) or _NEVER)
        if len(self._queue) > 2 * self._settings.max_active_jobs:
            await self._drop_finished()
        self._fill()
        if job_id in self._queue:
            self._sooner.set()

    async def missing(self) -> list[MissingPart]:
        """Return nothing: everything that is needed is in this process."""
        return []

    async def waiting(self) -> int:
        """Return how many jobs wait for others to end."""
        return (await self._store.figures()).jobs["queued"]

    def _fill(self) -> None:
        """Start queued jobs while there are free places."""
        places = self._settings.max_running_jobs
        while self._queue and len(self._running) - len(self._late) < places and not self._is_stopping:
            job_id, _ = self._queue.popitem(last=False)
            self._begin(job_id)

    def _begin(self, job_id: str) -> None:
        self._running[job_id] = asyncio.create_task(self._run(job_id), name="reme-compact-job")

    async def _run(self, job_id: str) -> None:
        try:
            lease = await self._store.start(job_id, _HOLDER)
            if lease is not None:
                await self._execute(lease)
        finally:
            del self._running[job_id]
            self._late.discard(job_id)
            self._fill()

    async def _execute(self, lease: Lease) -> None:
        try:
            await execute(self._store, lease, self._compactor, observer=self._observer)
        except Exception as error:  # noqa: BLE001 - a fault of ours in one job must not stop the others
            _log.error("A job could not be run: %s", exception_places(error))
            await self._store.fail(lease, INTERNAL_ERROR)

    async def _drop_finished(self) -> None:
        """Forget queued jobs that were cancelled, so that the queue cannot grow beyond the unfinished ones."""
        for job_id in list(self._queue):
            try:
                is_over = (await self._store.get(job_id, None)).is_final
            except ReMeError:
                is_over = True
            if is_over:
                self._queue.pop(job_id, None)

    async def _sweep_when_due(self) -> None:
        """Look through the store whenever a queued job has waited long enough, and now and then for what expired."""
        loop = asyncio.get_running_loop()
        pause = min(_LONGEST_PAUSE_SECONDS, self._settings.results_expire_after_seconds)
        next_visit = loop.time() + pause
        while True:
            self._sooner.clear()
            until_next_visit = next_visit - loop.time()
            seconds = min([until_next_visit, *self._seconds_left()])
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, seconds)):
                    await self._sooner.wait()
                continue
            await self._sweep()
            next_visit = loop.time() + pause

    def _seconds_left(self) -> list[float]:
        now = self._now()
        return [(waiting.next_look - now).total_seconds() for waiting in self._queue.values()]

    async def _sweep(self) -> None:
        now = self._now()
        sweep = await self._store.sweep()
        self._observer.swept(sweep)
        for job_id, waiting in list(self._queue.items()):
            if waiting.start_before <= now:
                # It is timed out now, or was cancelled before.
                del self._queue[job_id]
            elif waiting.deadline <= now and not self._is_stopping:
                del self._queue[job_id]
                self._late.add(job_id)
                self._begin(job_id)
        for job_id in sweep.lapsed:
            # Its task ended without an end of the job, which is a fault; running it again is the way out of it.
            if job_id not in self._running:
                self._queue[job_id] = _Waiting(_NEVER)
        self._fill()


def _abandon(task: asyncio.Task[None]) -> None:
    """Cancel a job that will not end, and let it go."""
    _log.error("A job did not end within %s s; it is abandoned.", _LETTING_GO_SECONDS)
    task.cancel()
    _abandoned.add(task)
    task.add_done_callback(_abandoned.discard)
