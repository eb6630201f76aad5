"""What whoever measures is told of jobs, in the process that runs them."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.store import Sweep

RunEnd: TypeAlias = Literal["succeeded", "failed", "cancelled", "lost", "released"]
"""How one run of a job ended. lost: another process has it now; released: this process stopped, another goes on."""


class JobObserver(Protocol):
    """Is told of every run of a job; `execute` calls it. It counts and measures, and keeps no content.

    No method raises or waits. Whatever starts with `job_started` ends with `job_finished`, in the same task.
    """

    def job_started(self, job_id: str, *, attempt: int) -> None:
        """A run starts; from the second attempt on it resumes an earlier one."""

    def planned(self, job_id: str, *, candidates: int, asked: int, batches: int) -> None:
        """The history was read."""

    def batch_scored(self, job_id: str, outcome: BatchOutcome) -> None:
        """A batch came back; `outcome.seconds` is how long its decision request took."""

    def deciding(self, job_id: str) -> None:
        """The proposal is being made."""

    def job_finished(self, job_id: str, end: RunEnd, *, seconds: float, proposal: Mapping[str, Any] | None) -> None:
        """A run ended.

        Args:
            job_id: the job.
            end: how.
            seconds: since the job's first start.
            proposal: `Response.answer` if there is one; its `decisions` and `stats` are counted.
        """

    def swept(self, sweep: Sweep) -> None:
        """The store was looked through for jobs that need something."""


class NoObserver:
    """A `JobObserver` that nobody reads."""

    def job_started(self, job_id: str, *, attempt: int) -> None:
        """Ignore it."""

    def planned(self, job_id: str, *, candidates: int, asked: int, batches: int) -> None:
        """Ignore it."""

    def batch_scored(self, job_id: str, outcome: BatchOutcome) -> None:
        """Ignore it."""

    def deciding(self, job_id: str) -> None:
        """Ignore it."""

    def job_finished(self, job_id: str, end: RunEnd, *, seconds: float, proposal: Mapping[str, Any] | None) -> None:
        """Ignore it."""

    def swept(self, sweep: Sweep) -> None:
        """Ignore it."""


UNOBSERVED = NoObserver()


class Observers:
    """Several observers as one."""

    def __init__(self, *observers: JobObserver) -> None:
        self._observers = observers

    def job_started(self, job_id: str, *, attempt: int) -> None:
        """Tell everyone."""
        for observer in self._observers:
            observer.job_started(job_id, attempt=attempt)

    def planned(self, job_id: str, *, candidates: int, asked: int, batches: int) -> None:
        """Tell everyone."""
        for observer in self._observers:
            observer.planned(job_id, candidates=candidates, asked=asked, batches=batches)

    def batch_scored(self, job_id: str, outcome: BatchOutcome) -> None:
        """Tell everyone."""
        for observer in self._observers:
            observer.batch_scored(job_id, outcome)

    def deciding(self, job_id: str) -> None:
        """Tell everyone."""
        for observer in self._observers:
            observer.deciding(job_id)

    def job_finished(self, job_id: str, end: RunEnd, *, seconds: float, proposal: Mapping[str, Any] | None) -> None:
        """Tell everyone."""
        for observer in self._observers:
            observer.job_finished(job_id, end, seconds=seconds, proposal=proposal)

    def swept(self, sweep: Sweep) -> None:
        """Tell everyone."""
        for observer in self._observers:
            observer.swept(sweep)
