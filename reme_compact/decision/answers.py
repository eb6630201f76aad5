"""Read what came back from a decision model; only a probability that can be trusted counts."""

import dataclasses
import json
from collections.abc import Mapping
from numbers import Real
from typing import Any

_LONGEST_EXPLANATION = 200


def probability_of(answer: Any) -> float | None:
    """Return the probability of a binary answer; null for anything else.

    A number that is not finite or not in 0..1, a bool, a numeric string, a refusal or another kind of answer is no
    probability.
    """
    try:
        if _field(answer, "type") != "binary_answer":
            return None
        value = _field(answer, "probability")
        if type(value) is not float:
            if isinstance(value, bool) or not isinstance(value, Real):
                return None
            value = float(value)
    except Exception:  # noqa: BLE001 - a stranger's object; whatever it raises spoils only its own unit
        return None
    return value if 0 <= value <= 1 else None


def explanation_of(answer: Any) -> str | None:
    """Return what an answer says about its reasons, at most 200 characters of it."""
    value = _field(answer, "explanation")
    return value[:_LONGEST_EXPLANATION] if isinstance(value, str) and value.strip() else None


def usage_of(usage: Any) -> Any:
    """Return reported usage as JSON data; null if there is none.

    Raises:
        ValueError: the usage cannot be written as JSON.
    """
    if dataclasses.is_dataclass(usage) and not isinstance(usage, type):
        usage = dataclasses.asdict(usage)
    elif hasattr(usage, "model_dump"):
        usage = usage.model_dump(mode="json")
    try:
        return json.loads(json.dumps(usage, allow_nan=False))
    except (TypeError, ValueError, RecursionError, OverflowError):
        raise ValueError("usage is not JSON") from None


def _field(answer: Any, name: str) -> Any:
    if isinstance(answer, Mapping):
        return answer.get(name)
    return getattr(answer, name, None)
