"""What came back for the units of one compaction."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from reme_compact.contract.errors import ErrorFields
from reme_compact.decision.answers import explanation_of, probability_of

NoVerdict: TypeAlias = Literal["invalid_answer", "model_error", "timeout", "unobserved"]


@dataclass(slots=True)
class Verdict:
    """A probability, or why there is none.

    Attributes:
        probability: 0..1 that the result is still needed.
        reason: set exactly when there is no probability.
        detail: code of the error behind the reason.
        explanation: what the decision model said about why, if it said anything.
    """

    probability: float | None = None
    reason: NoVerdict | None = None
    detail: str | None = None
    explanation: str | None = None


def read_answer(answer: Any) -> Verdict:
    """Turn one answer into a verdict; an answer that is missing or no probability is a reason to keep."""
    if answer is None:
        return Verdict(reason="invalid_answer", detail="no_answer")
    probability = probability_of(answer)
    if probability is None:
        return Verdict(reason="invalid_answer", detail="not_a_probability")
    return Verdict(probability, explanation=explanation_of(answer))


@dataclass(slots=True)
class Verdicts:
    """Everything that scoring a compaction's batches brought.

    Attributes:
        by_unit: one verdict per unit that was asked about.
        usage: what each answered request reported to have used, as JSON.
        requests: requests that were sent.
        errors: failures by code, with the number of batches each spoiled.
        warnings: what a host should know though nothing failed.
    """

    by_unit: dict[str, Verdict] = field(default_factory=dict)
    usage: list[Any] = field(default_factory=list)
    requests: int = 0
    errors: dict[str, dict[str, Any]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def fail(self, units: Iterable[str], reason: NoVerdict, error: ErrorFields) -> None:
        """Note that one batch failed; verdicts that are already there stay."""
        for unit in units:
            self.by_unit.setdefault(unit, Verdict(reason=reason, detail=error["code"]))
        entry = self.errors.setdefault(
            error["code"], {"code": error["code"], "message": error["message"], "batches": 0}
        )
        entry["batches"] += 1
