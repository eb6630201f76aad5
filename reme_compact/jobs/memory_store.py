"""Keep jobs in the memory of this process: nothing to install, and gone with the process."""

from collections.abc import AsyncIterator
from datetime import datetime

from anyio import move_on_after, to_thread

from reme_compact.contract.errors import (
    ErrorFields,
    IdempotencyConflictError,
    InvalidRequestError,
    RequestTooLargeError,
    StartTimeoutError,
    StorageFullError,
    TooBusyError,
    TooManyJobsError,
)
from reme_compact.contract.job import JOB_STATUSES, JobDocument, JobEvent, JobPage, JobStatus
from reme_compact.decision.batching import Batch
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.clock import Clock, utc_now
from reme_compact.jobs.identity import is_job_id
from reme_compact.jobs.memory_events import position_of
from reme_compact.jobs.memory_job import HeldLease, MemoryJob, digest_of
from reme_compact.jobs.memory_records import Records
from reme_compact.jobs.memory_size import memory_of
from reme_compact.jobs.record import Accepted, Lease, NewJob
from reme_compact.jobs.store import StoreFigures, StoreLimits, Sweep

_LETTING_GO_SECONDS = 0.1
_LARGE_BODY_BYTES = 64 * 1024


class MemoryStore:
    """A `JobStore` in memory, for one event loop.

    Of a request it keeps the parsed form, which is dropped when the job ends. Stored bytes are an estimate of the
    memory that all this takes: the parsed requests, the results, and something for every job that is kept. A request
    or a result that does not fit makes the oldest finished jobs expire early; if that would not do either, none of them
    does, and the request is refused, or the job fails with `storage_full`.

    `cancel` returns when the holder of the lease has let go, if it waits in `lost`: then it gives the lease back as
    soon as nothing is asked any more. It is waited for a tenth of a second, which is more than enough to be told.

    Args:
        limits: how much is taken.
        now: tells the time.
    """

    def __init__(self, limits: StoreLimits, now: Clock = utc_now) -> None:
        self._limits = limits
        self._now = now
        self._records = Records(limits)
        self._letting_go: dict[str, HeldLease] = {}

    async def create(self, job: NewJob) -> Accepted:
        """Accept a job, or find the one that its idempotency key means (see `JobStore.create`)."""
        is_large = len(job.body) > _LARGE_BODY_BYTES
        request_bytes, digest = await to_thread.run_sync(_examine, job) if is_large else _examine(job)
        # From here on nothing is awaited, so no other task can take the same place or key.
        self._expire()
        earlier = self._records.of_key(job)
        if earlier is not None:
            if earlier.body_digest != digest:
                raise IdempotencyConflictError(
                    "This Idempotency-Key was used before, with another request. Use a new key for a new request."
                )
            return Accepted(earlier.document(), is_new=False, start_before=earlier.start_before)
        record = MemoryJob(job, digest, request_bytes, self._now())
        self._admit(job, record.stored_bytes)
        self._records.add(record)
        return Accepted(record.document(), is_new=True, start_before=record.start_before)

    def _admit(self, job: NewJob, needed: int) -> None:
        if needed > self._limits.max_stored_bytes:
            raise RequestTooLargeError(
                f"The request takes {needed} bytes of memory, more than all jobs together may "
                f"({self._limits.max_stored_bytes}, execution.max_stored_bytes)."
            )
        limit = job.max_active_of_owner
        if limit is not None and self._records.active_of(job.owner) >= limit:
            raise TooManyJobsError(
                f"This API key already has {limit} unfinished jobs, its limit. Try again when one is finished."
            )
        if self._records.unfinished >= self._limits.max_active_jobs:
            raise TooBusyError(
                f"The service already has {self._limits.max_active_jobs} unfinished jobs, its limit "
                "(execution.max_active_jobs). Try again shortly."
            )
        if not self._records.make_room(needed, self._now()):
            raise StorageFullError(
                f"The request takes {needed} bytes of memory, more than unfinished jobs leave of "
                f"{self._limits.max_stored_bytes} (execution.max_stored_bytes). Try again when some are finished."
            )

    def deadline_of(self, job_id: str) -> datetime | None:
        """Return when a job has to be started, free place or not, since its total time has run from acceptance."""
        job = self._records.find(job_id)
        return job.deadline if job is not None and job.status == "queued" else None

    async def get(self, job_id: str, owner: str | None) -> JobDocument:
        """Return a job (see `JobStore.get`)."""
        return self._look_up(job_id, owner).document()

    async def page(self, owner: str | None, *, status: JobStatus | None, cursor: str | None, limit: int) -> JobPage:
        """Return some jobs, the newest first (see `JobStore.page`)."""
        if cursor is not None and not is_job_id(cursor):
            raise InvalidRequestError([{"path": "cursor", "message": "must be the next_cursor of an earlier page"}])
        self._expire()
        found: list[MemoryJob] = []
        for job in self._records.newest_first(owner, before=cursor):
            if status is None or job.status == status:
                found.append(job)
                if len(found) > limit:
                    break
        shown = found[:limit]
        return JobPage(jobs=[job.document() for job in shown], next_cursor=shown[-1].id if len(found) > limit else None)

    async def result(self, job_id: str, owner: str | None) -> list[bytes]:
        """Return the response of a job that succeeded (see `JobStore.result`)."""
        job = self._look_up(job_id, owner)
        error = job.why_no_result()
        if error is not None:
            raise error
        return list(job.result)

    async def cancel(self, job_id: str, owner: str | None) -> JobDocument:
        """Cancel a job unless it is finished, and return it when its holder has let go."""
        job = self._look_up(job_id, owner)
        if not job.is_final:
            held = job.lease
            self._records.finish(job, "cancelled", self._now())
            if held is not None and held.is_watched:
                await self._let_go(held)
        return job.document()

    async def _let_go(self, held: HeldLease) -> None:
        self._letting_go[held.token] = held
        try:
            with move_on_after(_LETTING_GO_SECONDS):
                await held.given_back.wait()
        finally:
            del self._letting_go[held.token]

    async def ended(self, job_id: str) -> None:
        """Return as soon as a job is finished or not there any more."""
        job = self._records.find(job_id)
        if job is not None:
            async for _ in job.events.watch(None):
                pass  # the events end with the job

    async def events(self, job_id: str, owner: str | None, after: str | None) -> AsyncIterator[JobEvent]:
        """Yield what happened to a job and what goes on happening (see `JobStore.events`).

        If the job is removed meanwhile, the events end.
        """
        job = self._look_up(job_id, owner)
        position = None if after is None else position_of(after)
        async for event in job.events.watch(position):
            yield event

    async def forget(self, job_id: str) -> None:
        """Remove a finished job and its content at once; without effect on others."""
        job = self._records.find(job_id)
        if job is not None and job.is_final:
            self._records.forget(job)

    async def start(self, job_id: str, holder: str) -> Lease | None:
        """Take the right to run a job (see `JobStore.start`)."""
        del holder
        job = self._records.find(job_id)
        now = self._now()
        if job is None or job.is_final:
            return None
        if job.is_overdue(now):
            self._time_out(job)
            return None
        if not job.is_startable(now):
            return None
        return self._records.start(job, now, self._limits.lease_seconds)

    async def renew(self, lease: Lease) -> bool:
        """Keep a lease from lapsing; false: it is no longer held."""
        job = self._held(lease)
        if job is None or job.lease is None:
            return False
        job.lease.until = self._now().timestamp() + self._limits.lease_seconds
        return True

    async def release(self, lease: Lease) -> None:
        """Give a lease back; also one that was lost, to say that nothing is done for the job any more."""
        letting_go = self._letting_go.get(lease.token)
        if letting_go is not None:
            letting_go.given_back.set()
        job = self._held(lease)
        if job is not None:
            job.drop_lease()

    async def lost(self, lease: Lease) -> None:
        """Return as soon as the lease is no longer held; who waits here gives it back afterwards."""
        job = self._held(lease)
        if job is not None and job.lease is not None:
            job.lease.is_watched = True
            await job.lease.ended.wait()

    async def planned(self, lease: Lease, *, candidates: int, asked: int, batches: int) -> None:
        """Record what the job will ask; without effect if the lease is no longer held."""
        job = self._held(lease)
        if job is not None:
            job.plan(self._now(), candidates=candidates, asked=asked, batches=batches)

    async def scored(self, job_id: str, batch: Batch, outcome: BatchOutcome) -> bool:
        """Record an outcome; false: it was not the first of its batch, or the job is not running."""
        job = self._records.find(job_id)
        return job is not None and self._records.score(job, self._now(), batch, outcome)

    async def deciding(self, lease: Lease) -> None:
        """Record that the proposal is being made; without effect if the lease is no longer held."""
        job = self._held(lease)
        if job is not None:
            job.decide(self._now())

    async def succeed(self, lease: Lease, result: list[bytes]) -> bool:
        """Finish a job with its response; false: the lease is no longer held, so the result was discarded.

        If there is no room for the response, the job fails with `storage_full`, which is true too.
        """
        job = self._held(lease)
        if job is None:
            return False
        now = self._now()
        needed = job.bytes_with(sum(map(len, result))) - job.stored_bytes
        if self._records.make_room(needed, now):
            job.result = result
            self._records.finish(job, "succeeded", now)
        else:
            error = StorageFullError("The result does not fit into what is left of execution.max_stored_bytes.")
            self._records.finish(job, "failed", now, error.fields())
        return True

    async def fail(self, lease: Lease, error: ErrorFields) -> bool:
        """Finish a job with an error; false: the lease is no longer held."""
        job = self._held(lease)
        if job is None:
            return False
        self._records.finish(job, "failed", self._now(), error)
        return True

    async def fail_all(self, error: ErrorFields) -> None:
        """Finish every unfinished job with an error: what runs them is about to stop."""
        for job in self._records.active():
            self._records.finish(job, "failed", self._now(), error)

    async def sweep(self) -> Sweep:
        """Time out what was not started in time, find what has to be run again, and remove what has expired.

        `removed` counts the long expired jobs whose owners are forgotten now.
        """
        sweep = Sweep(removed=self._expire())
        now = self._now()
        for job in self._records.active():
            if job.is_overdue(now):
                self._time_out(job)
                sweep.timed_out.append(job.id)
            elif job.status == "running" and job.has_lapsed(now):
                sweep.lapsed.append(job.id)
            elif job.status == "queued" and job.deadline is not None and job.deadline <= now:
                sweep.late.append(job.id)
            elif job.status == "queued" and (now - job.created_at).total_seconds() >= self._limits.lease_seconds:
                sweep.unclaimed.append(job.id)
        return sweep

    async def figures(self) -> StoreFigures:
        """Return figures for metrics."""
        counts = self._records.counts
        return StoreFigures({status: counts[status] for status in JOB_STATUSES}, self._records.stored_bytes)

    async def aclose(self) -> None:
        """Do nothing; the jobs are gone with the store."""

    def _look_up(self, job_id: str, owner: str | None) -> MemoryJob:
        self._expire()
        return self._records.of_owner(job_id, owner)

    def _held(self, lease: Lease) -> MemoryJob | None:
        job = self._records.find(lease.job_id)
        return job if job is not None and job.is_held_by(lease) else None

    def _time_out(self, job: MemoryJob) -> None:
        error = StartTimeoutError("The job could not be started in time; nothing was asked. Send it again later.")
        self._records.finish(job, "timed_out", self._now(), error.fields())

    def _expire(self) -> int:
        return self._records.expire(self._now())


def _examine(job: NewJob) -> tuple[int, bytes | None]:
    """Return how much memory a request takes, and what its idempotency key stands for."""
    return memory_of(job.request), digest_of(job) if job.idempotency_key is not None else None
