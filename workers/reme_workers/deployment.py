"""The distributed deployment as the service uses it: it accepts and watches jobs, workers run them."""

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from reme_compact.archive.archive import Archive
from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.health import LastRequest
from reme_compact.jobs.clock import Clock, utc_now
from reme_compact.jobs.deployment import JOB, store_limits
from reme_compact.jobs.observation import UNOBSERVED, JobObserver
from reme_compact.presets.assemble import assemble_counters, assemble_originals
from reme_compact.presets.schema import Preset, missing_job
from reme_workers.celery_app import build_celery_app
from reme_workers.connection import connect_blocking
from reme_workers.publishing import Publisher
from reme_workers.redis_store import RedisStore
from reme_workers.runner import CeleryRunner


class DistributedDeployment:
    """Jobs in Redis, run by workers. Usable from when it is entered until it is left.

    Args:
        preset: settings; its job is what the workers run.
        observer: is told of sweeps.
    """

    def __init__(self, preset: Preset, observer: JobObserver = UNOBSERVED) -> None:
        self._preset = preset
        self._observer = observer
        self._counters = assemble_counters(preset, JOB)
        self._originals = assemble_originals(preset)
        self._exit = AsyncExitStack()
        self._store: RedisStore | None = None
        self._runner: CeleryRunner | None = None

    async def __aenter__(self) -> Self:
        """Make connections, which are used when they are needed, and begin to sweep."""
        settings = self._preset.execution
        async with AsyncExitStack() as stack:
            store = RedisStore.from_settings(settings.redis, store_limits(settings))
            stack.push_async_callback(store.aclose)
            publisher = Publisher(build_celery_app(self._preset), connect_blocking(settings.redis))
            stack.push_async_callback(publisher.aclose)
            runner = CeleryRunner(
                store, publisher, needs_scores_worker=settings.scoring == "queue", observer=self._observer
            )
            store.has_jobs_worker = runner.has_jobs_worker
            self._runner = await stack.enter_async_context(runner)
            self._store = store
            self._exit = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of connections; the jobs go on."""
        await self._exit.aclose()

    @property
    def store(self) -> RedisStore:
        """Where jobs are kept.

        Raises:
            ConfigurationError: the deployment was never entered.
        """
        if self._store is None:
            raise _not_started()
        return self._store

    @property
    def runner(self) -> CeleryRunner:
        """Who hands them to workers.

        Raises:
            ConfigurationError: the deployment was never entered.
        """
        if self._runner is None:
            raise _not_started()
        return self._runner

    @property
    def archive(self) -> Archive | None:
        """Where workers keep originals."""
        return self._originals.archive

    def check_request(self, request: CompactionRequest) -> None:
        """Refuse a request that the workers could not work on (see `reme_compact.jobs.deployment.Deployment`)."""
        self._counters.check(request)
        self._originals.check(request)

    async def last_decision_request(self) -> LastRequest | None:
        """Return how the latest decision request of any worker ended; null if none did for a while.

        Raises:
            StoreUnavailableError: Redis cannot be reached.
        """
        return await self.runner.last_decision_request()

    def describe_decision_model(self) -> dict[str, str | None]:
        """Return `backend` and `model` of the decision model that workers build; a null model is the SDK's default."""
        settings = self._preset.components.as_decision_model[self._preset.jobs[JOB].as_decision_model]
        return {"backend": settings.backend, "model": settings.model}


def build(preset: Preset, clock: Clock = utc_now, observer: JobObserver = UNOBSERVED) -> DistributedDeployment:
    """Build the deployment; nothing is connected before it is entered.

    Args:
        preset: settings.
        clock: unused: workers and service go by the clock of Redis.
        observer: is told of sweeps.

    Raises:
        ConfigurationError: there is no address of a Redis server, or no job.
    """
    del clock
    if JOB not in preset.jobs:
        raise ConfigurationError(f"The preset {missing_job(preset, JOB)}")
    build_celery_app(preset)
    return DistributedDeployment(preset, observer)


def _not_started() -> ConfigurationError:
    return ConfigurationError("The application was not started; run it with its lifespan.")
