"""What the measurements of jobs bring: one row each, with the limit that it is held against."""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from benchmarks.presentation import megabytes, seconds

Unit: TypeAlias = Literal["s", "bytes"]
_WRITE = {"s": seconds, "bytes": megabytes}


@dataclass(frozen=True, slots=True)
class Row:
    """One figure.

    Attributes:
        what: was measured.
        value: the figure that is judged, in the unit.
        unit: of value and limit.
        limit: what is required; null: nothing is.
        note: more about it, for people.
        details: everything that was measured.
    """

    what: str
    value: float
    unit: Unit
    limit: float | None = None
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Whether the limit was kept."""
        if self.limit is None:
            return ""
        return "met" if self.value <= self.limit else "not met"

    def cells(self) -> list[str]:
        """Return the row of a table."""
        limit = "" if self.limit is None else _WRITE[self.unit](self.limit)
        return [self.what, _WRITE[self.unit](self.value), limit, self.verdict, self.note]
