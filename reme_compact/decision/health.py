"""Whether the last decision request worked, for whoever watches the service."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from reme_compact.contract.errors import ErrorFields


@dataclass(frozen=True, slots=True)
class LastRequest:
    """How the latest decision request ended."""

    worked: bool
    at: datetime
    error: ErrorFields | None = None


class DecisionModelHealth:
    """Remembers the latest decision request of one decision model.

    Attributes:
        last_request: null until the first request, and again after `expire`.
    """

    def __init__(self) -> None:
        self.last_request: LastRequest | None = None

    def worked(self, at: datetime) -> None:
        """Record a request that was answered."""
        self.last_request = LastRequest(worked=True, at=at)

    def failed(self, at: datetime, error: ErrorFields) -> None:
        """Record a request that failed or was not answered in time."""
        self.last_request = LastRequest(worked=False, at=at, error=error)

    def expire(self, now: datetime, older_than_seconds: float) -> bool:
        """Forget an outcome that is too old to say anything about now; tell whether one was forgotten."""
        last = self.last_request
        if last is None or now - last.at < timedelta(seconds=older_than_seconds):
            return False
        self.last_request = None
        return True
