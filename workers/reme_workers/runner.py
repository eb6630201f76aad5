"""Hand jobs to workers, and tell what is missing so that they are run."""

import asyncio
from datetime import datetime
from time import monotonic
from types import TracebackType
from typing import Self

import redis

from reme_compact.contract.errors import ReMeError
from reme_compact.decision.health import LastRequest
from reme_compact.jobs.observation import UNOBSERVED, JobObserver
from reme_compact.jobs.runner import MissingPart
from reme_workers.celery_app import JOBS_QUEUE, celery_key
from reme_workers.connection import as_typed
from reme_workers.heartbeat import count_live, heartbeats_key
from reme_workers.publishing import Publisher
from reme_workers.redis_store import RedisStore
from reme_workers.shared_health import health_key, read_health
from reme_workers.sweeper import Sweeper
from reme_workers.worker_arguments import Role

_COUNTED_EVERY_SECONDS = 0.5
_CANCELLED_EVERY_SECONDS = 0.1
_START_ONE = "No {role} worker is alive. Start one: reme worker role={role}"


class CeleryRunner:
    """A `Runner` whose jobs are run by workers, wherever they are. While it is entered, it sweeps.

    Args:
        store: where the jobs are; borrowed.
        publisher: puts jobs into the queue; borrowed.
        needs_scores_worker: whether decision requests are made by workers of their own.
        observer: is told of sweeps.
    """

    def __init__(
        self,
        store: RedisStore,
        publisher: Publisher,
        *,
        needs_scores_worker: bool,
        observer: JobObserver = UNOBSERVED,
    ) -> None:
        self._store = store
        self._publisher = publisher
        self._roles: tuple[Role, ...] = ("jobs", "scores") if needs_scores_worker else ("jobs",)
        self._sweeper = Sweeper(store, publisher, observer)
        self._sweeping: asyncio.Task[None] | None = None
        self._has_worker = False
        self._look_again_at = float("-inf")

    @property
    def republished(self) -> int:
        """How many jobs this process put back into the queue."""
        return self._sweeper.republished

    async def __aenter__(self) -> Self:
        """Begin to sweep; whether Redis can be reached does not matter yet."""
        self._sweeping = asyncio.create_task(self._sweeper.run(), name="reme-sweeper")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End sweeping; the jobs go on."""
        while self._sweeping is not None and not self._sweeping.done():
            # More than once: asyncio.wait_for, which redis-py uses, loses a cancellation now and then (Python 3.11).
            self._sweeping.cancel()
            await asyncio.wait({self._sweeping}, timeout=_CANCELLED_EVERY_SECONDS)

    async def submit(self, job_id: str, start_before: datetime) -> None:
        """Put a job into the queue.

        Raises:
            StoreUnavailableError: the queue cannot be reached.
        """
        await self._publisher.run_job(job_id, start_before)

    async def missing(self) -> list[MissingPart]:
        """Return what is missing: Redis, a live worker of a role, or a decision model that works."""
        try:
            missing = [
                MissingPart("jobs_worker" if role == "jobs" else "scores_worker", _START_ONE.format(role=role))
                for role in self._roles
                if not await self.live(role)
            ]
            last = await self.last_decision_request()
        except ReMeError as error:
            return [MissingPart("store", error.message)]
        if last is not None and last.error is not None:
            missing.append(MissingPart("decision_model", last.error["message"]))
        return missing

    async def waiting(self) -> int | None:
        """Return the length of the queue of jobs; null if Redis cannot be reached."""
        try:
            return int(await self._store.client.llen(celery_key(self._prefix, JOBS_QUEUE)))
        except redis.RedisError:
            return None

    async def has_jobs_worker(self) -> bool:
        """Tell whether a worker lives that could run a queued job, as counted a moment ago.

        Raises:
            StoreUnavailableError: Redis cannot be reached.
        """
        if monotonic() >= self._look_again_at:
            self._has_worker = await self.live("jobs") > 0
            self._look_again_at = monotonic() + _COUNTED_EVERY_SECONDS
        return self._has_worker

    async def live(self, role: Role) -> int:
        """Return how many processes of a role live.

        Raises:
            StoreUnavailableError: Redis cannot be reached.
        """
        try:
            return await count_live(self._store.client, heartbeats_key(self._prefix, role))
        except redis.RedisError as error:
            raise as_typed(error) from None

    async def last_decision_request(self) -> LastRequest | None:
        """Return how the latest decision request of any worker ended.

        Raises:
            StoreUnavailableError: Redis cannot be reached.
        """
        try:
            return await read_health(self._store.client, health_key(self._prefix))
        except redis.RedisError as error:
            raise as_typed(error) from None

    @property
    def _prefix(self) -> str:
        return self._store.keys.prefix
