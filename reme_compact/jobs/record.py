"""A job as it is asked for, kept and run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reme_compact.contract.job import JobDocument
from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.outcome import BatchOutcome


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be accepted.

    Attributes:
        id: see `new_job_id`.
        job: what to do.
        owner: name of the API key, or `ANONYMOUS`.
        request: the validated request; a store in the same process keeps it instead of the body.
        body: the request as JSON.
        start_within_seconds: how long it may wait to be started.
        runs_from_acceptance: `total_timeout_seconds` counts from acceptance instead of the first start.
        idempotency_key: the caller's name for this request; null: it never means an earlier job.
        max_active_of_owner: unfinished jobs that the owner may have, this one included; null: no such limit.
    """

    id: str
    job: str
    owner: str
    request: CompactionRequest
    body: bytes
    start_within_seconds: float
    runs_from_acceptance: bool = False
    idempotency_key: str | None = None
    max_active_of_owner: int | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of a `NewJob`.

    Attributes:
        document: the job; an earlier one if its idempotency key was used before with the same body.
        is_new: whether it has to be handed to a runner.
        start_before: when it ends as `timed_out` unless it was started.
    """

    document: JobDocument
    is_new: bool
    start_before: datetime


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run a job, held by one process until it lapses or is taken away.

    Attributes:
        job_id: the job.
        token: proves the right; another start of the same job gets another one.
        attempt: 1 for the first start.
        owner: name of the API key, or `ANONYMOUS`.
        request: what to do.
        running_seconds: how much of `total_timeout_seconds` has passed.
        known: outcomes of earlier attempts, by `Batch.key()`.
    """

    job_id: str
    token: str
    attempt: int
    owner: str
    request: CompactionRequest
    running_seconds: float = 0.0
    known: Mapping[str, BatchOutcome] = field(default_factory=dict)


ANONYMOUS = "anonymous"
"""Owner of the jobs of a service without API keys."""


def session_owner(owner: str) -> str:
    """Return who owns the sessions in the archive that a job's owner names; empty: nobody in particular."""
    return "" if owner == ANONYMOUS else owner
