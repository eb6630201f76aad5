"""The statistics of a proposal as far as they can be shown: `stats` is free-form, and services differ."""

from collections.abc import Callable, Mapping
from typing import Any

_LARGEST = 2**53
"""Above this, a number is no size, and arithmetic on it may fail."""


def readable_stats(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return those entries of a proposal's `stats` that are shown anywhere and have the shape that they should have."""
    stats = result.get("stats")
    if not isinstance(stats, Mapping):
        return {}
    return {name: stats[name] for name, fits in _SHAPES.items() if name in stats and fits(stats[name])}


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and _is_size(value)


def _is_size(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LARGEST


_SHAPES: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("errors", "warnings"), _is_list),
    **dict.fromkeys(("details", "explanations", "protected_by", "token_counter", "archived"), _is_mapping),
    **{f"{name}_{side}": _is_count for name in ("messages", "chars", "tokens") for side in ("before", "after")},
    **dict.fromkeys(("candidates", "asked", "requests"), _is_count),
    "elapsed_ms": _is_size,
    "format": _is_text,
}
