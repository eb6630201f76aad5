"""The two tasks: take a message off Celery's hands and let the event loop of this process do the work."""

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from celery.exceptions import Reject

from reme_compact.contract.exception_places import exception_places
from reme_workers.celery_app import RUN_JOB, SCORE_BATCHES

if TYPE_CHECKING:
    from celery import Celery

_log = logging.getLogger(__name__)


class RunsJobs(Protocol):
    """Runs jobs."""

    async def run(self, job_id: str) -> bool:
        """Run a job if there is still need; false: another process shall do it."""


class ScoresBatches(Protocol):
    """Scores batches."""

    async def handle(self, job_id: str, keys: list[str], until: float, at_once: int | None) -> bool:
        """Score batches if there is still need; false: another process shall do it."""


class OnLoop(Protocol):
    """Runs coroutine functions on the event loop of this process."""

    def __call__(self, work: Callable[[], Awaitable[bool]]) -> bool:
        """Wait for it, in the thread of a task."""


def register_run_job(app: "Celery", process: Callable[[], RunsJobs], on_loop: OnLoop) -> None:
    """Make `run_job` known to a jobs worker.

    Args:
        app: the worker's.
        process: returns what runs jobs in this process.
        on_loop: runs it.
    """

    @app.task(name=RUN_JOB)
    def run_job(job_id: str) -> None:
        _hand_back_unless(lambda: on_loop(lambda: process().run(job_id)))


def register_score_batches(app: "Celery", process: Callable[[], ScoresBatches], on_loop: OnLoop) -> None:
    """Make `score_batches` known to a scores worker; see `register_run_job`."""

    @app.task(name=SCORE_BATCHES)
    def score_batches(job_id: str, keys: list[str], until: float, at_once: int | None = None) -> None:
        _hand_back_unless(lambda: on_loop(lambda: process().handle(job_id, keys, until, at_once)))


def _hand_back_unless(work: Callable[[], bool]) -> None:
    """Put a message back into its queue unless it was dealt with."""
    try:
        is_done = work()
    except Exception as error:  # noqa: BLE001 - Celery would log its text, which may hold content
        # What the message meant is found again by the sweep, or by whoever waits for the batches.
        _log.error("a message was given up: %s", exception_places(error))
        return
    if not is_done:
        raise Reject("this worker stops", requeue=True)
