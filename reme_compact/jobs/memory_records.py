"""All jobs in memory, with what is known about them as a whole kept up to date at every change.

Nothing here grows with the jobs that are gone, except the bounded list of whose they were.
"""

from bisect import bisect_left, insort
from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from reme_compact.contract.errors import ErrorFields, JobExpiredError, JobNotFoundError
from reme_compact.contract.job import JobStatus
from reme_compact.decision.batching import Batch
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.clock import later
from reme_compact.jobs.memory_job import MemoryJob
from reme_compact.jobs.record import Lease, NewJob
from reme_compact.jobs.store import StoreLimits

_MOST_TOMBSTONES = 10_000


@dataclass(frozen=True, slots=True)
class _Tombstone:
    owner: str
    until: datetime


class Records:
    """Jobs by id, in the order of their ids, by owner, by idempotency key, and by when they expire."""

    def __init__(self, limits: StoreLimits) -> None:
        self.counts: Counter[JobStatus] = Counter()
        self.stored_bytes = 0
        self._keep_seconds = limits.results_expire_after_seconds
        self._max_stored_bytes = limits.max_stored_bytes
        self._unread_seconds = limits.unread_seconds
        self._jobs: dict[str, MemoryJob] = {}
        self._active: dict[str, MemoryJob] = {}
        self._active_of: Counter[str] = Counter()
        self._order: list[str] = []
        self._order_of: dict[str, list[str]] = {}
        self._by_key: dict[tuple[str, str], MemoryJob] = {}
        self._finished: OrderedDict[str, MemoryJob] = OrderedDict()
        self._tombstones: OrderedDict[str, _Tombstone] = OrderedDict()

    def find(self, job_id: str) -> MemoryJob | None:
        """Return a job, whoever asks."""
        return self._jobs.get(job_id)

    def of_owner(self, job_id: str, owner: str | None) -> MemoryJob:
        """Return a job of an owner; null: of anybody.

        Raises:
            JobNotFoundError, JobExpiredError: there is none (any more).
        """
        job = self._jobs.get(job_id)
        if job is not None and owner in {None, job.owner}:
            return job
        tombstone = self._tombstones.get(job_id)
        if tombstone is not None and owner in {None, tombstone.owner}:
            raise JobExpiredError("The job was finished so long ago that it and its result have been removed.")
        raise JobNotFoundError("There is no such job.")

    def of_key(self, new: NewJob) -> MemoryJob | None:
        """Return the job that the idempotency key of a new one means."""
        return None if new.idempotency_key is None else self._by_key.get((new.owner, new.idempotency_key))

    @property
    def unfinished(self) -> int:
        """How many jobs are not finished."""
        return len(self._active)

    def active(self) -> list[MemoryJob]:
        """Return the unfinished jobs, the oldest first."""
        return list(self._active.values())

    def active_of(self, owner: str) -> int:
        """Return how many unfinished jobs an owner has."""
        return self._active_of[owner]

    def newest_first(self, owner: str | None, before: str | None) -> Iterator[MemoryJob]:
        """Yield the jobs of an owner, or of all, whose ids are smaller than the one given."""
        order = self._order if owner is None else self._order_of.get(owner, [])
        end = len(order) if before is None else bisect_left(order, before)
        for index in range(end - 1, -1, -1):
            yield self._jobs[order[index]]

    def add(self, job: MemoryJob) -> None:
        """Take in a new job."""
        self._jobs[job.id] = job
        self._active[job.id] = job
        self._active_of[job.owner] += 1
        insort(self._order, job.id)
        insort(self._order_of.setdefault(job.owner, []), job.id)
        if job.idempotency_key is not None:
            self._by_key[job.owner, job.idempotency_key] = job
        self.counts[job.status] += 1
        self.stored_bytes += job.stored_bytes

    def start(self, job: MemoryJob, now: datetime, lease_seconds: float) -> Lease:
        """Give out the lease of a startable job."""
        self.counts[job.status] -= 1
        lease = job.start(now, lease_seconds)
        self.counts[job.status] += 1
        return lease

    def score(self, job: MemoryJob, now: datetime, batch: Batch, outcome: BatchOutcome) -> bool:
        """Record the outcome of a batch, unless there is one."""
        is_first = job.score(now, batch, outcome)
        self._account(job, job.bytes_now())
        return is_first

    def finish(self, job: MemoryJob, status: JobStatus, now: datetime, error: ErrorFields | None = None) -> None:
        """End an unfinished job; from now on it is kept for so long as results are kept."""
        self.counts[job.status] -= 1
        self.counts[status] += 1
        job.drop_lease()
        job.finish(status, error, now, self._keep_seconds)
        del self._active[job.id]
        self._active_of[job.owner] -= 1
        if not self._active_of[job.owner]:
            del self._active_of[job.owner]
        self._finished[job.id] = job
        self._account(job, job.bytes_now())

    def expire(self, now: datetime) -> int:
        """Remove the jobs that were kept long enough, and forget whose the long gone ones were.

        Returns:
            How many of the latter.
        """
        while self._finished:
            oldest = next(iter(self._finished.values()))
            if oldest.expires_at is None or oldest.expires_at > now:
                break
            self._bury(oldest, now)
        forgotten = 0
        while self._tombstones and next(iter(self._tombstones.values())).until <= now:
            self._tombstones.popitem(last=False)
            forgotten += 1
        return forgotten

    def make_room(self, needed: int, now: datetime) -> bool:
        """Remove the oldest finished jobs until so many bytes fit; none of them if that would not do.

        Those that were finished a moment ago stay: whoever waits for one has not read it yet.

        Returns:
            Whether the bytes fit.
        """
        too_much = self.stored_bytes + needed - self._max_stored_bytes
        chosen = []
        for job in self._finished.values():
            if too_much <= 0 or job.is_unread(now, self._unread_seconds):
                break
            chosen.append(job)
            too_much -= job.stored_bytes
        if too_much > 0:
            return False
        for job in chosen:
            self._bury(job, now)
        return True

    def forget(self, job: MemoryJob) -> None:
        """Remove a finished job without a trace."""
        self._remove(job)

    def _bury(self, job: MemoryJob, now: datetime) -> None:
        self._remove(job)
        self._tombstones[job.id] = _Tombstone(job.owner, later(now, self._keep_seconds))
        if len(self._tombstones) > _MOST_TOMBSTONES:
            self._tombstones.popitem(last=False)

    def _remove(self, job: MemoryJob) -> None:
        del self._jobs[job.id]
        del self._finished[job.id]
        _remove_sorted(self._order, job.id)
        of_owner = self._order_of[job.owner]
        _remove_sorted(of_owner, job.id)
        if not of_owner:
            del self._order_of[job.owner]
        if job.idempotency_key is not None:
            del self._by_key[job.owner, job.idempotency_key]
        self.counts[job.status] -= 1
        self._account(job, 0)
        job.result = []

    def _account(self, job: MemoryJob, stored_bytes: int) -> None:
        self.stored_bytes += stored_bytes - job.stored_bytes
        job.stored_bytes = stored_bytes


def _remove_sorted(order: list[str], job_id: str) -> None:
    del order[bisect_left(order, job_id)]
