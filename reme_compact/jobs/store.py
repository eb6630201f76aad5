"""Where the records of jobs live: the seam between the service and memory or Redis."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Protocol

from reme_compact.contract.errors import ErrorFields
from reme_compact.contract.job import JobDocument, JobEvent, JobPage, JobStatus
from reme_compact.decision.batching import Batch
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.record import Accepted, Lease, NewJob


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """How much a store takes.

    Attributes:
        max_active_jobs: jobs that are not finished, of all owners.
        max_stored_bytes: what all jobs that are kept may take, requests and results included.
        results_expire_after_seconds: how long a finished job is kept.
        lease_seconds: how long a lease lasts without being renewed.
        unread_seconds: how long a finished job is safe from making room for others, so that whoever waits for it can
            read its result.
    """

    max_active_jobs: int
    max_stored_bytes: int
    results_expire_after_seconds: float
    lease_seconds: float
    unread_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Sweep:
    """What one look over all jobs did.

    Attributes:
        timed_out: jobs that were not started in time and are finished now.
        lapsed: jobs whose lease lapsed; they have to be handed to a runner again.
        unclaimed: jobs that have been queued for a while; if the queue is empty, their message was lost.
        late: queued jobs whose total time counts from acceptance and has passed; whoever can has to run them now.
        removed: entries without a job that were tidied away.
    """

    timed_out: list[str] = field(default_factory=list)
    lapsed: list[str] = field(default_factory=list)
    unclaimed: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    removed: int = 0


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """Figures for metrics.

    Attributes:
        jobs: number of jobs by status.
        stored_bytes: what the jobs that are kept take, requests and results included.
    """

    jobs: dict[JobStatus, int]
    stored_bytes: int


class JobStore(Protocol):
    """Keeps jobs. Final statuses never change; every change of status is also an event.

    `owner` is who asks; null is an administrator, who sees everybody's jobs. A job of somebody else does not exist.
    Every method may raise `StoreUnavailableError`.
    """

    async def create(self, job: NewJob) -> Accepted:
        """Accept a job, or find the one that its idempotency key means.

        If there is no room, the oldest finished jobs, of any owner, expire early; none of them if that would not do.

        Raises:
            IdempotencyConflictError: the key was used by this owner with another body.
            TooBusyError: there are `max_active_jobs` unfinished jobs.
            TooManyJobsError: the owner has as many unfinished jobs as it may.
            RequestTooLargeError: the job alone takes more than `max_stored_bytes`.
            StorageFullError: it does not fit beside the jobs that are unfinished, or finished a moment ago.
        """

    async def get(self, job_id: str, owner: str | None) -> JobDocument:
        """Return a job.

        Raises:
            JobNotFoundError: there is none, or none of this owner.
            JobExpiredError: it was there, and the store still knows that it was this owner's.
        """

    async def page(self, owner: str | None, *, status: JobStatus | None, cursor: str | None, limit: int) -> JobPage:
        """Return some jobs, the newest first; `cursor` is the `next_cursor` of the page before.

        Raises:
            InvalidRequestError: the cursor is none of ours.
        """

    async def result(self, job_id: str, owner: str | None) -> list[bytes]:
        """Return the response of a job that succeeded, as JSON in pieces.

        Raises:
            JobNotFoundError, JobExpiredError: as for `get`.
            JobNotFinishedError: it is queued or running.
            JobCancelledError: it was cancelled.
            ReportedError: it failed or timed out; the error is the job's own.
        """

    async def cancel(self, job_id: str, owner: str | None) -> JobDocument:
        """Cancel a job unless it is finished, and return it.

        Raises:
            JobNotFoundError, JobExpiredError: as for `get`.
        """

    def events(self, job_id: str, owner: str | None, after: str | None) -> AsyncIterator[JobEvent]:
        """Yield what happened to a job and what goes on happening, up to `finished`.

        Args:
            job_id: the job.
            owner: who asks.
            after: id of the last event that is known; null: from the beginning.

        Raises:
            JobNotFoundError, JobExpiredError: as for `get`, at the first step.
            InvalidRequestError: `after` is no id of an event, at the first step.
        """

    async def ended(self, job_id: str) -> None:
        """Return as soon as a job is finished or not there any more."""

    async def forget(self, job_id: str) -> None:
        """Remove a finished job and its content at once; without effect on others."""

    async def start(self, job_id: str, holder: str) -> Lease | None:
        """Take the right to run a job: one that is queued, or running with a lease that lapsed or was released.

        Null if it must not be run (finished, gone, running elsewhere). The first start is an event, and every
        later one too, with its number.
        """

    async def renew(self, lease: Lease) -> bool:
        """Keep a lease from lapsing; false: it is no longer held (cancelled, finished or taken by another)."""

    async def release(self, lease: Lease) -> None:
        """Give a lease back, so that another process can go on with the job at once."""

    async def lost(self, lease: Lease) -> None:
        """Return as soon as the lease is no longer held, for instance because the job was cancelled."""

    async def planned(self, lease: Lease, *, candidates: int, asked: int, batches: int) -> None:
        """Record what the job will ask."""

    async def scored(self, job_id: str, batch: Batch, outcome: BatchOutcome) -> bool:
        """Record an outcome; the first one of a batch wins. False: it was not the first, or the job is finished."""

    async def deciding(self, lease: Lease) -> None:
        """Record that the proposal is being made."""

    async def succeed(self, lease: Lease, result: list[bytes]) -> bool:
        """Finish a job with its response; false: the lease is no longer held, so the result was discarded."""

    async def fail(self, lease: Lease, error: ErrorFields) -> bool:
        """Finish a job with an error; false: the lease is no longer held."""

    async def sweep(self) -> Sweep:
        """Time out what was not started in time, find what has to be run again, and tidy up."""

    async def figures(self) -> StoreFigures:
        """Return figures for metrics."""

    async def aclose(self) -> None:
        """Let go of connections. Jobs in memory are gone."""
