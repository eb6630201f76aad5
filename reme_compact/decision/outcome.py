"""What one decision request brought, as data that can be stored and read again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from reme_compact.contract.errors import ErrorFields
from reme_compact.decision.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """How one batch ended.

    Attributes:
        verdicts: one per unit of the batch, by the unit's id; empty if the request failed.
        usage: what the request reported to have used, as JSON.
        error: why the request failed; null if it was answered.
        fatal: asking about other batches cannot help either.
        warning: what a host should know though nothing failed.
        seconds: how long the request took, for metrics; null if that was not measured.
    """

    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    usage: Any = None
    error: ErrorFields | None = None
    fatal: bool = False
    warning: str | None = None
    seconds: float | None = field(default=None, compare=False)

    @property
    def has_probability(self) -> bool:
        """Whether the request brought at least one usable answer."""
        return any(verdict.probability is not None for verdict in self.verdicts.values())

    def as_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes an equal outcome."""
        return {
            "verdicts": {
                unit: {
                    "probability": verdict.probability,
                    "reason": verdict.reason,
                    "detail": verdict.detail,
                    "explanation": verdict.explanation,
                }
                for unit, verdict in self.verdicts.items()
            },
            "usage": self.usage,
            "error": self.error,
            "fatal": self.fatal,
            "warning": self.warning,
            "seconds": self.seconds,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what `as_json` wrote.

        Raises:
            LookupError, TypeError: it is something else.
        """
        verdicts = {unit: Verdict(**verdict) for unit, verdict in data["verdicts"].items()}
        return cls(verdicts, data["usage"], data["error"], data["fatal"], data["warning"], data.get("seconds"))
