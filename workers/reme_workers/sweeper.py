"""Look over all jobs again and again, and put those back into the queue that nobody runs."""

import logging
from collections.abc import Callable

import anyio
import redis

from reme_compact.contract.errors import StoreUnavailableError
from reme_compact.contract.exception_places import exception_places
from reme_compact.jobs.observation import UNOBSERVED, JobObserver
from reme_compact.jobs.store import Sweep
from reme_workers.celery_app import JOBS_QUEUE, celery_key
from reme_workers.publishing import Publisher
from reme_workers.redis_store import RedisStore

EVERY_SECONDS = 0.25

_JUST_AFTER_SECONDS = 0.005

_log = logging.getLogger(__name__)


class Sweeper:
    """Sweeps in one process; any number of processes may do so at once.

    Attributes:
        republished: jobs that this process put back into the queue.

    Args:
        store: the jobs; borrowed.
        publisher: hands them over; borrowed.
        observer: is told of every sweep that found something.
        run_late: begins to run a job beside those of the queue, more than once if it takes a while; null: this process
            runs none.
    """

    def __init__(
        self,
        store: RedisStore,
        publisher: Publisher,
        observer: JobObserver = UNOBSERVED,
        *,
        run_late: Callable[[str], None] | None = None,
    ) -> None:
        self.republished = 0
        self._store = store
        self._publisher = publisher
        self._observer = observer
        self._run_late = run_late
        self._deadlines = f"{store.keys.prefix}deadlines"
        self._queue = celery_key(store.keys.prefix, JOBS_QUEUE)

    async def run(self) -> None:
        """Sweep until cancelled."""
        reachable = True
        while True:
            pause = EVERY_SECONDS
            try:
                await self.sweep_once()
                pause = await self._seconds_until_next()
                reachable = True
            except (StoreUnavailableError, redis.RedisError) as error:
                if reachable:
                    _log.warning("jobs are not looked over: Redis cannot be reached (%s)", type(error).__name__)
                reachable = False
            except Exception as error:  # noqa: BLE001 - one fault must not end all sweeping
                _log.error("a sweep failed: %s", exception_places(error))
            await anyio.sleep(pause)

    async def sweep_once(self) -> Sweep:
        """Look over all jobs once.

        Raises:
            StoreUnavailableError, redis.RedisError: the server cannot be reached.
        """
        sweep = await self._store.sweep()
        if sweep != Sweep():
            self._observer.swept(sweep)
        if self._run_late is not None:
            for job_id in sweep.late:
                self._run_late(job_id)
        for job_id in sweep.lapsed:
            await self._republish(job_id)
        # In a queue that is not empty their messages may still be waiting; more of them would only add to the load.
        if sweep.unclaimed and not await self._store.client.llen(self._queue):
            for job_id in sweep.unclaimed:
                await self._republish(job_id)
        return sweep

    async def _seconds_until_next(self) -> float:
        """Return how long to wait: not beyond the next end of a job's time, at which its worker may turn out lost."""
        client = self._store.client
        seconds, microseconds = await client.time()
        now = seconds * 1000 + microseconds // 1000
        ends = await client.zrangebyscore(self._deadlines, f"({now}", "+inf", start=0, num=1, withscores=True)
        if not ends:
            return EVERY_SECONDS
        return min(EVERY_SECONDS, (float(ends[0][1]) - now) / 1000 + _JUST_AFTER_SECONDS)

    async def _republish(self, job_id: str) -> None:
        await self._publisher.run_job(job_id, None)
        self.republished += 1
