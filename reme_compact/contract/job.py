"""A job as its owner sees it: over HTTP, in events and on the command line."""

from datetime import datetime
from typing import Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field

JobStatus: TypeAlias = Literal["queued", "running", "succeeded", "failed", "cancelled", "timed_out"]

JOB_STATUSES: tuple[JobStatus, ...] = get_args(JobStatus)
FINAL_STATUSES: frozenset[JobStatus] = frozenset({"succeeded", "failed", "cancelled", "timed_out"})
"""A job that has one of these never changes again."""

EventType: TypeAlias = Literal["queued", "started", "planned", "batch_scored", "deciding", "finished"]


class JobError(BaseModel):
    """Why a job or one of its batches failed: the four fields of every failure."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: str = Field(description="The cause, for programs.")
    error: str = Field(description="Name of the kind of error.")
    message: str = Field(description="What is wrong and how to mend it.")
    retryable: bool = Field(description="Whether the same request may succeed later.")


class JobProgress(BaseModel):
    """How far a job has come. Everything is 0 until the history was read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    candidates: int = Field(default=0, ge=0, description="Pairs that no rule protects.")
    asked: int = Field(default=0, ge=0, description="Candidates that the decision model is asked about.")
    scored: int = Field(default=0, ge=0, description="Of those asked about, how many came back, answered or failed.")
    batches: int = Field(default=0, ge=0, description="Decision requests that are needed.")
    batches_scored: int = Field(default=0, ge=0, description="Of those, how many came back.")


class JobDocument(BaseModel):
    """One job."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    job: str = Field(description="What is done, as in the path it was posted to.")
    status: JobStatus
    progress: JobProgress = JobProgress()
    waiting_for: Literal["worker"] | None = Field(
        default=None, description="`worker`: the job is queued and no worker is there that could run it."
    )
    created_at: datetime
    started_at: datetime | None = Field(default=None, description="Of the first start; resuming does not change it.")
    finished_at: datetime | None = None
    expires_at: datetime | None = Field(default=None, description="When job and result are removed.")
    error: JobError | None = None

    @property
    def is_final(self) -> bool:
        """Whether nothing about the job changes any more."""
        return self.status in FINAL_STATUSES


class JobPage(BaseModel):
    """Some jobs, the newest first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    jobs: list[JobDocument]
    next_cursor: str | None = Field(description="Ask with it for older jobs; null: there are none.")


class JobEvent(BaseModel):
    """Something that happened to a job.

    `data` by type: `queued` {}; `started` {attempt}; `planned` {candidates, asked, batches}; `batch_scored`
    {scored, asked, batches_scored, batches, error}, whose error is null or the four fields; `deciding` {};
    `finished` {status, error}, which is the last one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(description="Grows with time; send the last one seen as Last-Event-ID to resume after it.")
    type: EventType
    data: dict[str, Any] = Field(default_factory=dict)
