"""What time it is, as something that is passed in, so that tests can decide it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Clock: TypeAlias = Callable[[], datetime]
"""Tells the time, with its zone."""


def utc_now() -> datetime:
    """Return the current time, with its zone."""
    return datetime.now(UTC)


def later(moment: datetime, seconds: float) -> datetime:
    """Return a moment so many seconds later, or a hundred years if that is sooner, so that it stays a date."""
    return moment + timedelta(seconds=min(seconds, _HUNDRED_YEARS))


_HUNDRED_YEARS = 100 * 365 * 86400.0
