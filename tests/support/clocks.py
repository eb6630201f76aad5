"""A clock that tests set."""

from datetime import UTC, datetime, timedelta


class ManualClock:
    """Tells the time that it was set to."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)
