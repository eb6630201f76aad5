"""A decision model that answers at once, so that only the time around it is measured."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SPREAD = 0.6180339887498949
_UNNEEDED_SHARE = 0.85
_THRESHOLD = 0.1


@dataclass(frozen=True, slots=True)
class InstantAnswer:
    """A binary answer."""

    probability: float
    type: str = "binary_answer"


@dataclass(frozen=True, slots=True)
class InstantResponse:
    """All answers there could be, whatever was asked."""

    content: Mapping[str, InstantAnswer]
    usage: None = None
    model: str = "instant"


class InstantModel:
    """Knows the answer about every pair beforehand: 85 in 100 are not needed, and no two are equally probable.

    Attributes:
        requests: how often it was asked.
        questions: how many questions that were.
    """

    def __init__(self, pairs: int, *, keep_requests: bool) -> None:
        self._response = InstantResponse(
            {f"t{number}": InstantAnswer(_probability(number)) for number in range(1, pairs + 1)}
        )
        self._keep_requests = keep_requests
        self._kept: list[tuple[Any, Mapping[str, Any]]] = []
        self.requests = 0
        self.questions = 0

    async def __call__(self, state: Any, questions: Mapping[str, Any]) -> InstantResponse:
        """Answer without looking."""
        self.requests += 1
        self.questions += len(questions)
        if self._keep_requests:
            self._kept.append((state, questions))
        return self._response

    def reset(self) -> None:
        """Forget what was asked so far."""
        self.requests = self.questions = 0
        self._kept.clear()

    def write_requests(self, path: Path) -> int:
        """Write each kept request, state and questions as they go over the wire, as one line; return their number."""
        with path.open("w", encoding="utf-8", errors="replace") as lines:
            for state, questions in self._kept:
                lines.write(_compact(state) + _compact(questions) + "\n")
        return len(self._kept)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _probability(number: int) -> float:
    position = number * _SPREAD % 1
    if position < _UNNEEDED_SHARE:
        return position / _UNNEEDED_SHARE * _THRESHOLD
    return _THRESHOLD + (1 - _THRESHOLD) * (position - _UNNEEDED_SHARE) / (1 - _UNNEEDED_SHARE)
