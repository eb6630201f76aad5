"""Who runs jobs: the seam between the service and its own event loop, or workers on other machines."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

Part: TypeAlias = Literal["store", "jobs_worker", "scores_worker", "decision_model", "archive"]


@dataclass(frozen=True, slots=True)
class MissingPart:
    """Something without which jobs are not run, or not well.

    Attributes:
        part: which one.
        message: what to do about it.
    """

    part: Part
    message: str


class Runner(AbstractAsyncContextManager["Runner"], Protocol):
    """Runs jobs that a store has accepted, from when it is entered until it is left.

    Leaving it lets go of every job it runs, within a second or two: jobs in memory end as failed, others are released
    for another process.
    """

    async def submit(self, job_id: str, start_before: datetime) -> None:
        """See to it that a job is run; it may already be under way.

        Raises:
            StoreUnavailableError: the queue cannot be reached.
        """

    async def missing(self) -> list[MissingPart]:
        """Return what is missing so that jobs can be run."""

    async def waiting(self) -> int | None:
        """Return how many jobs wait for a worker; null if that cannot be told."""
