"""The host's token counter of the benchmark: the same number from the whole history or added up, and timed.

Four characters of JSON are a token. A real tokenizer takes longer, which would only widen the differences
between counting much and counting little.
"""

import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

from benchmarks.cases import Shape

_Counted = TypeVar("_Counted")

_CHARS_PER_TOKEN = 4


class HostCounter:
    """Counts tokens per message, or per block where one message holds everything, and knows what that cost.

    Attributes:
        calls: calls of any of the functions by whoever was given them.
        seconds: time inside those calls.
    """

    def __init__(self, shape: Shape) -> None:
        self._per_block = shape == "one_message"
        self._running_since: float | None = None
        self.calls = 0
        self.seconds = 0.0

    def reset(self) -> None:
        """Forget what was counted so far."""
        self.calls = 0
        self.seconds = 0.0

    def seconds_until(self, now: float) -> float:
        """Return the time spent in the counter up to now, a call under way included."""
        running_since = self._running_since
        return self.seconds + (now - running_since if running_since is not None else 0.0)

    def total(self, messages: list[dict[str, Any]]) -> int:
        """Count a history without noting it down."""
        return sum(self._message(message) for message in messages)

    def opaque(self) -> Callable[[list[dict[str, Any]]], int]:
        """Return the function over a whole history."""
        return self._timed(self.total)

    def per_message(self) -> Callable[[dict[str, Any]], int]:
        """Return the function over one message."""
        return self._timed(self._message)

    def per_block(self) -> Callable[[dict[str, Any]], int] | None:
        """Return the function over one block; null where messages are counted as a whole."""
        return self._timed(_block) if self._per_block else None

    def _message(self, message: dict[str, Any]) -> int:
        if self._per_block:
            return 4 + sum(_block(block) for block in message["content"])
        return len(json.dumps(message)) // _CHARS_PER_TOKEN + 1

    def _timed(self, function: Callable[[_Counted], int]) -> Callable[[_Counted], int]:
        def count(value: _Counted) -> int:
            self.calls += 1
            self._running_since = started = time.perf_counter()
            try:
                return function(value)
            finally:
                self._running_since = None
                self.seconds += time.perf_counter() - started

        return count


def _block(block: dict[str, Any]) -> int:
    return len(json.dumps(block)) // _CHARS_PER_TOKEN + 1
