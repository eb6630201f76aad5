"""Copies for code of others, so that it cannot reach a history, a proposal or a decision request."""

from typing import Any

_SCALARS = frozenset({str, int, float, bool, type(None)})


def private_copy(value: Any) -> Any:
    """Copy every container of JSON data, texts and numbers are shared."""
    if isinstance(value, dict):
        copy = dict(value)
        for key, item in value.items():
            if type(item) not in _SCALARS:
                copy[key] = private_copy(item)
        return copy
    if isinstance(value, list):
        return [item if type(item) in _SCALARS else private_copy(item) for item in value]
    return value
