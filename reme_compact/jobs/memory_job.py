"""One job in memory: its state, and the only ways in which that changes."""

import asyncio
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from reme_compact.contract.errors import (
    ErrorFields,
    JobCancelledError,
    JobNotFinishedError,
    ReMeError,
    ReportedError,
)
from reme_compact.contract.job import FINAL_STATUSES, JobDocument, JobError, JobProgress, JobStatus
from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.batching import Batch
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.clock import later
from reme_compact.jobs.memory_events import EventLog
from reme_compact.jobs.memory_size import BYTES_PER_BATCH, BYTES_PER_JOB, BYTES_PER_VERDICT
from reme_compact.jobs.record import Lease, NewJob


@dataclass(slots=True)
class HeldLease:
    """A lease that is, or was, held.

    Attributes:
        token: proves it.
        until: when it lapses, in seconds since 1970.
        ended: set when it is no longer held.
        is_watched: its holder waits for `ended`, and will give the lease back after it.
        given_back: set when the holder does nothing for the job any more.
    """

    token: str
    until: float
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    is_watched: bool = False
    given_back: asyncio.Event = field(default_factory=asyncio.Event)


class MemoryJob:
    """One job; every change of status is also an event, and a final status never changes.

    Args:
        new: what was accepted.
        body_digest: see `digest_of`; null without an idempotency key.
        request_bytes: how much memory the parsed request takes.
        now: the time.
    """

    def __init__(self, new: NewJob, body_digest: bytes | None, request_bytes: int, now: datetime) -> None:
        self.id = new.id
        self.owner = new.owner
        self.idempotency_key = new.idempotency_key
        self.body_digest = body_digest
        self.status: JobStatus = "queued"
        self.created_at = now
        self.start_before = later(now, new.start_within_seconds)
        self.finished_at: datetime | None = None
        self.expires_at: datetime | None = None
        self.lease: HeldLease | None = None
        self.events = EventLog()
        self.result: list[bytes] = []
        self._job = new.job
        self._request: CompactionRequest | None = new.request
        self._request_bytes = request_bytes
        self._runs_from_acceptance = new.runs_from_acceptance
        self._attempts = 0
        self._started_at: datetime | None = None
        self._progress = JobProgress()
        self._outcomes: dict[str, BatchOutcome] = {}
        self._verdicts = 0
        self._error: ErrorFields | None = None
        self.events.append(now, "queued", {})
        self.stored_bytes = self.bytes_now()

    @property
    def is_final(self) -> bool:
        """Whether nothing changes any more."""
        return self.status in FINAL_STATUSES

    @property
    def deadline(self) -> datetime | None:
        """When its total time is over, if that is known before its first start."""
        if self._request is None or not self._runs_from_acceptance:
            return None
        return later(self.created_at, self._request.options.total_timeout_seconds)

    def bytes_now(self) -> int:
        """Return how much memory it takes as it is."""
        return self.bytes_with(sum(map(len, self.result)), self._request_bytes + BYTES_PER_VERDICT * self._verdicts)

    def bytes_with(self, result_bytes: int, request_bytes: int = 0) -> int:
        """Return how much memory it takes with a result of such a size, and with nothing of its request."""
        return BYTES_PER_JOB + BYTES_PER_BATCH * self._progress.batches_scored + request_bytes + result_bytes

    def is_held_by(self, lease: Lease) -> bool:
        """Tell whether a lease is the one that counts; it does until another one is taken, even if it lapsed."""
        return self.lease is not None and self.lease.token == lease.token

    def is_startable(self, now: datetime) -> bool:
        """Tell whether somebody may take the lease, unless it is overdue."""
        return self.status == "queued" or (self.status == "running" and self.has_lapsed(now))

    def is_overdue(self, now: datetime) -> bool:
        """Tell whether it waited too long for its first start."""
        return self.status == "queued" and now >= self.start_before

    def has_lapsed(self, now: datetime) -> bool:
        """Tell whether nobody holds the lease, or somebody who is silent."""
        return self.lease is None or self.lease.until <= now.timestamp()

    def is_unread(self, now: datetime, unread_seconds: float) -> bool:
        """Tell whether it was finished so short a time ago that nobody can have been expected to read it."""
        return self.finished_at is None or (now - self.finished_at).total_seconds() < unread_seconds

    def document(self) -> JobDocument:
        """Return the job as its owner sees it."""
        return JobDocument(
            id=self.id,
            job=self._job,
            status=self.status,
            progress=self._progress,
            created_at=self.created_at,
            started_at=self._started_at,
            finished_at=self.finished_at,
            expires_at=self.expires_at,
            error=JobError(**self._error) if self._error is not None else None,
        )

    def why_no_result(self) -> ReMeError | None:
        """Return why there is no result; null: there is one."""
        if self.status == "succeeded":
            return None
        if self.status == "cancelled":
            return JobCancelledError("The job was cancelled, so it has no result.")
        if self._error is not None:
            return ReportedError(self._error)
        return JobNotFinishedError(f"The job is {self.status}; it has no result yet. Ask again later.")

    def start(self, now: datetime, lease_seconds: float) -> Lease:
        """Take the lease of a startable job; a former holder loses it."""
        self.drop_lease()
        self.status = "running"
        self._attempts += 1
        if self._started_at is None:
            self._started_at = now
        self.lease = HeldLease(secrets.token_hex(16), now.timestamp() + lease_seconds)
        self.events.append(now, "started", {"attempt": self._attempts})
        since = self.created_at if self._runs_from_acceptance else self._started_at
        return Lease(
            job_id=self.id,
            token=self.lease.token,
            attempt=self._attempts,
            owner=self.owner,
            request=self._request_left(),
            running_seconds=max(0.0, (now - since).total_seconds()),
            known=dict(self._outcomes),
        )

    def drop_lease(self) -> HeldLease | None:
        """Take the lease away, tell its holder, and return it."""
        held, self.lease = self.lease, None
        if held is not None:
            held.ended.set()
        return held

    def plan(self, now: datetime, *, candidates: int, asked: int, batches: int) -> None:
        """Record what will be asked; what was scored before stays."""
        plan = {"candidates": candidates, "asked": asked, "batches": batches}
        self._progress = self._progress.model_copy(update=plan)
        self.events.append(now, "planned", plan)

    def score(self, now: datetime, batch: Batch, outcome: BatchOutcome) -> bool:
        """Record the outcome of a batch, unless there is one."""
        key = batch.key()
        if self.status != "running" or key in self._outcomes:
            return False
        self._outcomes[key] = outcome
        self._verdicts += len(outcome.verdicts)
        scored = {
            "scored": self._progress.scored + len(batch.unit_ids),
            "batches_scored": self._progress.batches_scored + 1,
        }
        self._progress = self._progress.model_copy(update=scored)
        known = {"asked": self._progress.asked, "batches": self._progress.batches, "error": outcome.error}
        self.events.append(now, "batch_scored", scored | known)
        return True

    def decide(self, now: datetime) -> None:
        """Record that the proposal is being made."""
        self.events.append(now, "deciding", {})

    def finish(self, status: JobStatus, error: ErrorFields | None, now: datetime, keep_seconds: float) -> None:
        """End the job; the request and what was scored are dropped."""
        self.status = status
        self._error = error
        self.finished_at = now
        self.expires_at = later(now, keep_seconds)
        self._request = None
        self._request_bytes = 0
        self._outcomes = {}
        self._verdicts = 0
        self.events.append(now, "finished", {"status": status, "error": error})

    def _request_left(self) -> CompactionRequest:
        if self._request is None:
            raise RuntimeError("A finished job cannot be started.")
        return self._request


def digest_of(new: NewJob) -> bytes:
    """Return a hash of everything that a repeated idempotency key must repeat."""
    digest = sha256(new.job.encode() + b"\n")
    digest.update(new.body)
    return digest.digest()
