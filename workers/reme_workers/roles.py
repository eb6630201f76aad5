"""What a worker process runs, by its role and its pool, and which processes that are."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import anyio
from billiard import Value, active_children
from celery import signals

from reme_compact.jobs.observation import UNOBSERVED, JobObserver, Observers
from reme_compact.presets.schema import Preset
from reme_workers.jobs_process import JobsProcess, running_jobs_process
from reme_workers.parent_death import end_with_parent
from reme_workers.process_loop import ProcessLoop
from reme_workers.scores_process import ScoresProcess, build_decision_model, running_scores_process
from reme_workers.tasks import register_run_job, register_score_batches
from reme_workers.worker_arguments import WorkerArguments

if TYPE_CHECKING:
    from celery import Celery


class Work(Protocol):
    """What a worker does, however many processes it has."""

    def register(self, app: "Celery") -> None:
        """Make its task known."""

    def start(self) -> None:
        """Get ready; called before the pool is started.

        Raises:
            ConfigurationError: it cannot be built.
        """

    def names(self) -> Sequence[str]:
        """Return the names of the processes that are at work now."""

    def hand_over(self) -> None:
        """Give back everything under way and take nothing more; may be called from a signal handler, and again."""

    def close(self) -> None:
        """Let go of everything; called after the pool has ended."""


def work_of(preset: Preset, arguments: WorkerArguments, name: str) -> Work:
    """Return what a worker does.

    Args:
        preset: the settings.
        arguments: role, pool and concurrency.
        name: of this process.
    """
    if arguments.role == "jobs":
        return JobsInThreads(preset, name, arguments.metrics_port, arguments.metrics_host)
    if arguments.pool == "threads":
        return ScoresInThreads(preset, name, arguments.concurrency)
    return ScoresInProcesses(preset, name)


class JobsInThreads:
    """Jobs on one event loop; each occupies a thread that waits."""

    def __init__(self, preset: Preset, name: str, metrics_port: int | None, metrics_host: str) -> None:
        self._name = name
        self._preset = preset
        self._metrics_port = metrics_port
        self._metrics_host = metrics_host
        self._observers = ExitStack()
        self._loop: ProcessLoop[JobsProcess] = ProcessLoop(self._running)

    def register(self, app: "Celery") -> None:
        """Make `run_job` known."""
        register_run_job(app, lambda: self._loop.process, self._loop.do)

    def start(self) -> None:
        """Start the event loop."""
        self._loop.start()

    def names(self) -> Sequence[str]:
        """Return the name of this process."""
        return [self._name]

    def hand_over(self) -> None:
        """Give all leases back."""
        self._loop.hand_over()

    def close(self) -> None:
        """End the event loop, then what observed it."""
        self._loop.close()
        self._observers.close()

    def _running(self) -> Any:
        return running_jobs_process(self._preset, self._name, self._observer())

    def _observer(self) -> JobObserver:
        observers: list[JobObserver] = []
        if self._metrics_port is not None:
            from reme_workers.metrics import serve_worker_metrics  # noqa: PLC0415 - only where metrics are wanted

            metrics = serve_worker_metrics(self._metrics_port, self._metrics_host)
            self._observers.callback(metrics.stop)
            observers.append(metrics.observer)
        if self._preset.service.tracing:
            from reme_compact.jobs.tracing import tracing  # noqa: PLC0415 - optional

            observers.append(self._observers.enter_context(tracing()))
        return Observers(*observers) if observers else UNOBSERVED


class ScoresInThreads:
    """Decision requests on one event loop, as many at once as there are threads."""

    def __init__(self, preset: Preset, name: str, concurrency: int) -> None:
        self._name = name
        self._loop = ProcessLoop(partial(running_scores_process, preset, name, concurrency))

    def register(self, app: "Celery") -> None:
        """Make `score_batches` known."""
        register_score_batches(app, lambda: self._loop.process, self._loop.do)

    def start(self) -> None:
        """Start the event loop and build the decision model."""
        self._loop.start()

    def names(self) -> Sequence[str]:
        """Return the name of this process."""
        return [self._name]

    def hand_over(self) -> None:
        """Give unfinished batches back."""
        self._loop.hand_over()

    def close(self) -> None:
        """End the event loop."""
        self._loop.close()


class ScoresInProcesses:
    """Decision requests one after another in each of several processes, for a model that computes here."""

    def __init__(self, preset: Preset, name: str) -> None:
        self._preset = preset
        self._name = name
        self._stopping: Any = Value("b", 0, lock=False)
        self._loop: ProcessLoop[ScoresProcess] | None = None

    def register(self, app: "Celery") -> None:
        """Make `score_batches` known."""
        register_score_batches(app, lambda: self._started().process, lambda work: self._started().do(work))

    def start(self) -> None:
        """See that the decision model can be built; each process builds its own."""
        model = build_decision_model(self._preset)
        anyio.run(model.aclose)
        signals.worker_process_init.connect(self._start_child, weak=False)

    def names(self) -> Sequence[str]:
        """Return the names of the processes of the pool that live."""
        return [self._name_of(child.pid) for child in active_children() if child.pid is not None]

    def hand_over(self) -> None:
        """Have the processes of the pool give unfinished batches back; each looks a few times a second."""
        self._stopping.value = 1

    def close(self) -> None:
        """Do nothing: the processes of the pool have ended."""

    def _name_of(self, process_id: int) -> str:
        return f"{self._name}.{process_id}"

    def _start_child(self, **_: Any) -> None:
        end_with_parent()
        name = self._name_of(os.getpid())
        running = partial(running_scores_process, self._preset, name, 1, should_stop=lambda: bool(self._stopping.value))
        self._loop = ProcessLoop(running)
        self._loop.start()

    def _started(self) -> ProcessLoop[ScoresProcess]:
        if self._loop is None:
            raise RuntimeError("this process is none of the pool's")
        return self._loop
