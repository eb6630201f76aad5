"""Where jobs are kept and run, chosen by a preset: in this process, or by workers on other machines."""

import importlib
import math
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from types import TracebackType
from typing import Protocol, Self, cast

from anyio import move_on_after, to_thread

from reme_compact.archive.archive import Archive
from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.errors import ConfigurationError, MissingExtraError
from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.health import LastRequest
from reme_compact.jobs.clock import Clock, utc_now
from reme_compact.jobs.local_runner import LocalRunner
from reme_compact.jobs.memory_store import MemoryStore
from reme_compact.jobs.observation import UNOBSERVED, JobObserver
from reme_compact.jobs.runner import Runner
from reme_compact.jobs.store import JobStore, StoreLimits
from reme_compact.presets.assemble import assemble_job
from reme_compact.presets.schema import ExecutionSettings, Preset

JOB = "compact_context"
"""The job that every deployment runs."""

_CLOSING_SECONDS = 5
_DISTRIBUTED = "reme_workers.deployment"
_OF_THE_EXTRA = {"celery", "kombu", "redis", "zstandard"}


class Deployment(AbstractAsyncContextManager["Deployment"], Protocol):
    """A store, a runner, and what is known of the decision model; usable from when it is entered until it is left."""

    @property
    def store(self) -> JobStore:
        """Where jobs are kept."""

    @property
    def runner(self) -> Runner:
        """Who runs them; entered and left by the deployment."""

    @property
    def archive(self) -> Archive | None:
        """Where originals are kept; null: nowhere."""

    def check_request(self, request: CompactionRequest) -> None:
        """Refuse a validated request that this deployment could not work on.

        Raises:
            InvalidRequestError: it needs a token counter or an archive that there is not.
        """

    async def last_decision_request(self) -> LastRequest | None:
        """Return how the latest decision request ended; null if none is known, or none that says anything now."""

    def describe_decision_model(self) -> dict[str, str | None]:
        """Return `backend` and `model` of the decision model."""


class EmbeddedDeployment:
    """Jobs in memory, run on this event loop.

    Args:
        preset: settings, and the job `compact_context` unless a step is given.
        step: makes the proposals; it is borrowed. Null: one is built when the deployment is entered, and closed when
            it is left.
        clock: tells the time.
        observer: is told of every run of a job.
    """

    def __init__(
        self,
        preset: Preset,
        step: CompactContextStep | None = None,
        *,
        clock: Clock = utc_now,
        observer: JobObserver = UNOBSERVED,
    ) -> None:
        self._preset = preset
        self._step = step
        self._clock = clock
        self._observer = observer
        # A lease in memory cannot be lost with its holder, so it need not be renewed.
        self._store = MemoryStore(replace(store_limits(preset.execution), lease_seconds=math.inf), clock)
        self._runner: LocalRunner | None = None
        self._exit = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Build the step unless it is there, and start to run jobs.

        Raises:
            ConfigurationError: the settings of the decision model are refused.
        """
        async with AsyncExitStack() as stack:
            if self._step is None:
                # Imports a provider's SDK and reads its weights: the event loop must stay free to see a signal.
                self._step = await to_thread.run_sync(assemble_job, self._preset, JOB)
                stack.push_async_callback(self._close_step, self._step)
            runner = LocalRunner(
                self._store,
                self._step.compactor,
                self._preset.execution,
                now=self._clock,
                observer=self._observer,
            )
            self._runner = await stack.enter_async_context(runner)
            self._exit = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all jobs, then close the step that was built."""
        await self._exit.aclose()

    @property
    def store(self) -> MemoryStore:
        """Where jobs are kept."""
        return self._store

    @property
    def runner(self) -> LocalRunner:
        """Who runs them.

        Raises:
            ConfigurationError: the deployment was never entered.
        """
        if self._runner is None:
            raise _not_started()
        return self._runner

    @property
    def step(self) -> CompactContextStep:
        """Who makes the proposals.

        Raises:
            ConfigurationError: the deployment was not entered.
        """
        if self._step is None:
            raise _not_started()
        return self._step

    @property
    def archive(self) -> Archive | None:
        """Where originals are kept."""
        return self.step.archive

    def check_request(self, request: CompactionRequest) -> None:
        """Refuse a request for which there is no token counter or no archive (see `Deployment`)."""
        self.step.compactor.check(request)

    async def last_decision_request(self) -> LastRequest | None:
        """Return how the latest decision request ended."""
        return self.step.health.last_request

    def describe_decision_model(self) -> dict[str, str | None]:
        """Return `backend` and `model` of the decision model."""
        return self.step.describe_decision_model()

    async def _close_step(self, step: CompactContextStep) -> None:
        self._step = None
        with move_on_after(_CLOSING_SECONDS, shield=True):
            await step.aclose()


def _not_started() -> ConfigurationError:
    return ConfigurationError("The application was not started; run it with its lifespan.")


def build_deployment(
    preset: Preset,
    step: CompactContextStep | None = None,
    *,
    clock: Clock = utc_now,
    observer: JobObserver = UNOBSERVED,
) -> Deployment:
    """Choose a deployment; nothing is connected or loaded before it is entered.

    Args:
        preset: settings, and the job `compact_context` unless a step is given.
        step: with `runner: local`, makes the proposals; it is borrowed. Null: one is built from the preset.
        clock: tells the time.
        observer: is told of sweeps and, with `runner: local`, of every run; workers have observers of their own.

    Raises:
        ConfigurationError: a step was given to a deployment whose workers build their own.
        MissingExtraError: Celery or Redis is not installed.
    """
    if preset.execution.runner == "local":
        return EmbeddedDeployment(preset, step, clock=clock, observer=observer)
    if step is not None:
        raise ConfigurationError("With execution.runner 'celery' the workers build their own steps; pass none.")
    return _build_distributed(preset, clock, observer)


def _build_distributed(preset: Preset, clock: Clock, observer: JobObserver) -> Deployment:
    """Build the deployment of the package that only distributed installations can import."""
    try:
        module = importlib.import_module(_DISTRIBUTED)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _OF_THE_EXTRA:
            raise
        raise MissingExtraError("execution.runner 'celery'", "distributed") from error
    return cast("Deployment", module.build(preset, clock, observer))


def store_limits(settings: ExecutionSettings) -> StoreLimits:
    """Return how much a store takes, as the settings say."""
    return StoreLimits(
        max_active_jobs=settings.max_active_jobs,
        max_stored_bytes=settings.max_stored_bytes,
        results_expire_after_seconds=settings.results_expire_after_seconds,
        lease_seconds=settings.lease_seconds,
    )
