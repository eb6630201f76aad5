"""What a jobs worker does: hold a job's lease and make its proposal, one event loop for all its jobs."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial

import anyio
import redis
from anyio import CancelScope, to_thread

from reme_compact.compaction.compactor import Compactor
from reme_compact.contract.exception_places import exception_places
from reme_compact.jobs.deployment import JOB, store_limits
from reme_compact.jobs.execution import execute
from reme_compact.jobs.observation import JobObserver
from reme_compact.presets.assemble import assemble_counters, assemble_job, assemble_originals
from reme_compact.presets.schema import Preset
from reme_workers.celery_app import build_celery_app
from reme_workers.connection import connect_blocking
from reme_workers.publishing import Publisher
from reme_workers.queue_scorer import QueueScorer
from reme_workers.redis_store import RedisStore
from reme_workers.scoring_queue import ScoringQueue
from reme_workers.shared_health import SharedHealth, health_key
from reme_workers.sweeper import Sweeper
from reme_workers.warm_up import warm_up

_PATIENCE_SECONDS = 30.0
_CLOSING_SECONDS = 0.5
_PUBLISH_HEALTH_SECONDS = 0.5

_log = logging.getLogger(__name__)


class JobsProcess:
    """Runs jobs on one event loop.

    Args:
        name: of this process, for its leases.
        store: the jobs.
        compactor_for: makes what makes the proposal of a job, by the job's id.
        renew_every_seconds: how often a lease is renewed.
        records_outcomes: whether outcomes are recorded here; false: by scores workers.
        observer: is told of every run.
    """

    def __init__(
        self,
        name: str,
        store: RedisStore,
        compactor_for: Callable[[str], Compactor],
        *,
        renew_every_seconds: float,
        records_outcomes: bool,
        observer: JobObserver,
    ) -> None:
        self._name = name
        self._store = store
        self._compactor_for = compactor_for
        self._execute = partial(
            execute,
            renew_every_seconds=renew_every_seconds,
            records_outcomes=records_outcomes,
            patience_seconds=_PATIENCE_SECONDS,
            observer=observer,
        )
        self._scopes: set[CancelScope] = set()
        self._late: set[str] = set()
        self._stopping = False

    async def run(self, job_id: str) -> bool:
        """Run a job unless it must not be run; false: this process stops, so another shall run it.

        Raises:
            StoreUnavailableError: the store could not be reached for too long.
        """
        if self._stopping:
            return False
        with CancelScope() as scope:
            self._scopes.add(scope)
            try:
                lease = await self._store.start(job_id, self._name)
                if lease is not None:
                    await self._execute(self._store, lease, self._compactor_for(job_id))
            finally:
                self._scopes.discard(scope)
        return not scope.cancelled_caught

    async def run_late(self, job_id: str) -> None:
        """Run a job whose time is up already, beside those that occupy a slot; without effect if that is under way.

        Whatever goes wrong is logged; the job times out then.
        """
        if job_id in self._late:
            return
        self._late.add(job_id)
        try:
            await self.run(job_id)
        except Exception as error:  # noqa: BLE001 - one job must not end the process
            _log.error("a job whose time is up could not be run: %s", exception_places(error))
        finally:
            self._late.discard(job_id)

    def stop(self) -> None:
        """Give all leases back and take nothing more; every `run` under way returns false."""
        self._stopping = True
        for scope in self._scopes:
            scope.cancel()


@asynccontextmanager
async def running_jobs_process(preset: Preset, name: str, observer: JobObserver) -> AsyncIterator[JobsProcess]:
    """Build what a jobs process needs, sweep meanwhile, and let go of everything afterwards.

    Raises:
        ConfigurationError: the decision model or the server's address is refused.
    """
    settings = preset.execution
    async with AsyncExitStack() as stack:
        store = RedisStore.from_settings(settings.redis, store_limits(settings))
        stack.push_async_callback(_in_time, store.aclose)
        publisher = Publisher(build_celery_app(preset), connect_blocking(settings.redis))
        stack.push_async_callback(_in_time, publisher.aclose)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        counters = assemble_counters(preset, JOB)
        await warm_up(counters)
        if settings.scoring == "queue":
            queue = ScoringQueue(store, publisher)
            originals = assemble_originals(preset)

            def compactor_for(job_id: str) -> Compactor:
                return Compactor(QueueScorer(job_id, queue), counters, originals)

        else:
            step = await to_thread.run_sync(assemble_job, preset, JOB)
            stack.push_async_callback(_in_time, step.aclose)
            expires = preset.health.outcome_expires_after_seconds
            health = SharedHealth(store.client, health_key(settings.redis.key_prefix), expires, step.health)
            tasks.start_soon(_publish_again_and_again, health)

            def compactor_for(job_id: str) -> Compactor:
                del job_id
                return step.compactor

        process = JobsProcess(
            name,
            store,
            compactor_for,
            renew_every_seconds=settings.lease_seconds / 3,
            records_outcomes=settings.scoring == "inline",
            observer=observer,
        )

        def run_late(job_id: str) -> None:
            tasks.start_soon(process.run_late, job_id)

        tasks.start_soon(Sweeper(store, publisher, observer, run_late=run_late).run)
        yield process


async def _publish_again_and_again(health: SharedHealth) -> None:
    while True:
        with suppress(redis.RedisError):
            await health.publish()
        await anyio.sleep(_PUBLISH_HEALTH_SECONDS)


async def _in_time(close: Callable[[], Awaitable[None]]) -> None:
    with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
        await close()
