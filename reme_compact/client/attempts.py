"""Whether a call is worth another attempt, and when."""

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from reme_compact.client.sent import Reply

_PASSING = frozenset({HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE})
_FIRST_WAIT = 0.25


class Attempts:
    """The attempts at one call, which together end at its deadline.

    A service that says when to come back (429 or 503, with `Retry-After`) did nothing, so any call may be made again.
    A call whose answer was lost may be made again only if that does nothing that the first did not do.
    """

    def __init__(
        self,
        *,
        retries: int,
        timeout_seconds: float,
        can_be_repeated: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._left = retries
        self._clock = clock
        self._deadline = clock() + timeout_seconds
        self._can_be_repeated = can_be_repeated
        self._next_wait = _FIRST_WAIT

    def seconds_left(self) -> float:
        """Return the time to the deadline, to the millisecond, since messages name it."""
        return max(0.0, round(self._deadline - self._clock(), 3))

    def pause_after(self, reply: Reply) -> float | None:
        """Return after how many seconds to try again; null: the reply is the answer."""
        after = reply.headers.get("Retry-After")
        return None if reply.status not in _PASSING or after is None else self._granted(_seconds(after))

    def pause_after_loss(self) -> float | None:
        """Return after how many seconds to ask for a lost answer again; null: not at all."""
        seconds = self._granted(self._next_wait if self._can_be_repeated else None)
        self._next_wait *= 2
        return seconds

    def _granted(self, seconds: float | None) -> float | None:
        if seconds is None or self._left <= 0 or seconds >= self.seconds_left():
            return None
        self._left -= 1
        return seconds


def _seconds(retry_after: str) -> float | None:
    """Read the header, a number of seconds or a date; null for anything else."""
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return float(text) if len(text) < 10 else math.inf
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
