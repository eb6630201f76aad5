"""Figures as text."""

import math
from dataclasses import dataclass

from benchmarks.results import CaseResult, Outcome

_MEGA = 1_000_000


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as much theirs took as ours; a lower bound where theirs was ended at its limit."""

    value: float
    is_lower_bound: bool = False

    def __str__(self) -> str:
        """Write three digits, or all that there are."""
        digits = f"{self.value:,.0f}" if self.value >= 100 else f"{self.value:.3g}"
        return f"> {digits}" if self.is_lower_bound else digits


def wall_ratio(result: CaseResult, ours: str, theirs: str) -> Ratio | None:
    """Return the ratio of wall times of two variants; null if there is none."""
    mine, other = result.figures(ours), result.outcomes.get(theirs)
    if mine is None or other is None or mine.wall_seconds <= 0:
        return None
    if other.figures is not None:
        return Ratio(other.figures.wall_seconds / mine.wall_seconds)
    if other.limit_seconds is not None:
        return Ratio(other.limit_seconds / mine.wall_seconds, is_lower_bound=True)
    return None


def seconds(value: float) -> str:
    """Write a time in the unit that suits it, with three digits."""
    if value < 0.0995:
        return f"{_three_digits(value * 1000)} ms"
    return f"{_three_digits(value)} s"


def megabytes(value: float) -> str:
    """Write bytes in millions."""
    return f"{_three_digits(value / _MEGA)} MB"


def count(value: int | None) -> str:
    """Write a number of things."""
    return "" if value is None else f"{value:,}"


def ended(outcome: Outcome | None) -> str:
    """Say in a cell why there is no time."""
    if outcome is None:
        return ""
    if outcome.status == "over_limit" and outcome.limit_seconds is not None:
        return f"more than {outcome.limit_seconds:g} s"
    return {"not_run": "not run", "failed": "failed"}.get(outcome.status, "")


def _three_digits(value: float) -> str:
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(decimals, 2)}f}"
