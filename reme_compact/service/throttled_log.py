"""Say what happens again and again only now and then."""

import logging
import time
from collections.abc import Callable
from typing import Any

_PAUSE_SECONDS = 10.0


class ThrottledLog:
    """Writes one line at most every ten seconds, with the number of times that it stands for.

    Args:
        logger: gets the lines.
        event: what happens.
        level: how bad that is.
        now: tells the seconds.
    """

    def __init__(
        self,
        logger: logging.Logger,
        event: str,
        level: int = logging.WARNING,
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._logger = logger
        self._event = event
        self._level = level
        self._now = now
        self._times = 0
        self._next: float | None = None

    def happened(self, **fields: Any) -> None:
        """Count it, and write a line if the last one is long enough ago; the fields are those of this time."""
        self._times += 1
        now = self._now()
        if self._next is None or now >= self._next:
            self._logger.log(self._level, self._event, extra={"times": self._times, **fields})
            self._times = 0
            self._next = now + _PAUSE_SECONDS
