"""Results as they are kept in a file: per case and variant an outcome, with what it was measured on."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from benchmarks.cases import Case

Status: TypeAlias = Literal["measured", "over_limit", "not_run", "failed"]

_MEDIAN_OF = ("wall_seconds", "cpu_seconds", "peak_bytes", "stall_seconds", "own_stall_seconds", "counter_seconds")


@dataclass(frozen=True, slots=True)
class Figures:
    """What one variant of one case cost and did; times in seconds, medians over the rounds."""

    wall_seconds: float
    cpu_seconds: float
    peak_bytes: float
    stall_seconds: float
    own_stall_seconds: float
    first_call_seconds: float
    counter_seconds: float
    counter_calls: int
    requests: int
    questions: int
    decisions: int
    previews: int
    preview_digest: str
    reason: str
    budget_met: bool | None
    tokens_before: int
    tokens_after: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Sent:
    """What all decision requests of one compaction amount to; tokens are of o200k_base, null if not counted."""

    requests: int
    chars: int
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one variant of one case ended.

    Attributes:
        limit_seconds: the limit that was passed, for `over_limit`.
        note: why there are no figures.
        rounds: wall seconds of every round.
    """

    status: Status
    limit_seconds: float | None = None
    note: str = ""
    figures: Figures | None = None
    sent: Sent | None = None
    rounds: list[float] = field(default_factory=list)


@dataclass(slots=True)
class CaseResult:
    """All outcomes of one case, by variant name; `skipped` says why nothing was run."""

    case: Case
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    skipped: str = ""

    def figures(self, variant: str) -> Figures | None:
        """Return the figures of a variant, null if there are none."""
        outcome = self.outcomes.get(variant)
        return outcome.figures if outcome is not None else None


@dataclass(slots=True)
class Results:
    """One run of the benchmark.

    Attributes:
        machine: what it ran on, and when (`benchmarks.machine`).
        processes: figures of whole processes (`benchmarks.processes`); null if they were not measured.
    """

    machine: dict[str, Any]
    cases: list[CaseResult] = field(default_factory=list)
    processes: dict[str, Any] | None = None

    def of(self, case: Case) -> CaseResult | None:
        """Return the result of a case, null if it was not part of the run."""
        return next((result for result in self.cases if result.case == case), None)

    def save(self, path: Path) -> None:
        """Write everything as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Results":
        """Read what `save` wrote."""
        values = json.loads(path.read_text(encoding="utf-8"))
        return cls(values["machine"], [_case_result(value) for value in values["cases"]], values["processes"])


def combine(runs: Sequence[dict[str, Any]]) -> Figures:
    """Return the first run's figures with the medians of all runs where figures vary."""
    medians = {name: statistics.median(run[name] for run in runs) for name in _MEDIAN_OF}
    return Figures(**{**runs[0], **medians})


def _case_result(value: dict[str, Any]) -> CaseResult:
    outcomes = {name: _outcome(outcome) for name, outcome in value["outcomes"].items()}
    return CaseResult(Case(**value["case"]), outcomes, value["skipped"])


def _outcome(value: dict[str, Any]) -> Outcome:
    figures, sent = value["figures"], value["sent"]
    return Outcome(
        **{
            **value,
            "figures": None if figures is None else Figures(**figures),
            "sent": None if sent is None else Sent(**sent),
        }
    )
