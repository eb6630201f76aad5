"""How far a watched job is, told by its events."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reme_compact.cli.job_text import error_text
from reme_compact.client.problems import is_problem
from reme_compact.contract.job import FINAL_STATUSES, JobError, JobEvent


@dataclass(frozen=True, slots=True)
class Step:
    """What an event says, as a line of text: empty if it is not worth one; remarkable if it also is beside a bar."""

    text: str
    is_remarkable: bool = False


@dataclass(slots=True)
class Watched:
    """What the events so far add up to.

    Attributes:
        phase: what is done now, in words.
        asked: results that the decision model is asked about; null while that is not known.
        scored: of those, how many came back.
        status: the job's last status; empty while it goes on.
        error: why it failed, in a sentence; empty without one.
    """

    phase: str = "waiting"
    asked: int | None = None
    scored: int = 0
    status: str = ""
    error: str = ""

    def apply(self, event: JobEvent) -> Step:
        """Take an event in, and return what it says."""
        data = event.data
        match event.type:
            case "queued":
                self.phase = "queued"
            case "started":
                self.phase = "started"
                attempt = _count(data, "attempt") or 1
                return Step("started") if attempt == 1 else Step(f"started again (start {attempt})", is_remarkable=True)
            case "planned":
                self.phase = "scoring"
                self.asked = _count(data, "asked")
                return Step(_planned(data))
            case "batch_scored":
                return self._scored(data)
            case "deciding":
                self.phase = "deciding"
            case "finished":
                self._finished(data)
                return Step(f"{self.status}: {self.error}" if self.error else self.status, is_remarkable=True)
        return Step(self.phase)

    def _scored(self, data: Mapping[str, Any]) -> Step:
        before = self._tenths()
        self.phase = "scoring"
        self.asked = self.asked if (asked := _count(data, "asked")) is None else asked
        self.scored = max(self.scored, _count(data, "scored") or 0)
        failure = _failure(data.get("error"))
        if failure:
            return Step(f"a request failed, its results are kept: {failure}", is_remarkable=True)
        return Step(f"scored {self.scored} of {self.asked}" if self.asked and self._tenths() > before else "")

    def _tenths(self) -> int:
        return 10 * self.scored // self.asked if self.asked else -1

    def _finished(self, data: Mapping[str, Any]) -> None:
        status = data.get("status")
        self.status = status if isinstance(status, str) and status in FINAL_STATUSES else "finished"
        self.phase = self.status
        self.error = _failure(data.get("error"))


def _planned(data: Mapping[str, Any]) -> str:
    candidates, asked, batches = (_count(data, name) or 0 for name in ("candidates", "asked", "batches"))
    if not asked:
        return f"nothing to ask about ({candidates} candidates)"
    return f"asking about {asked} of {candidates} candidates, in {batches} {'request' if batches == 1 else 'requests'}"


def _count(data: Mapping[str, Any], name: str) -> int | None:
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _failure(value: Any) -> str:
    return error_text(JobError(**{name: value[name] for name in JobError.model_fields})) if is_problem(value) else ""
