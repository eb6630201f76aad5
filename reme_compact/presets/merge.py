"""Lay one preset over another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Layer:
    """What one source says: a file, or the overrides."""

    label: str
    data: dict[str, Any]


def merge(base: Any, over: Any) -> Any:
    """Merge mappings key by key; anything else, lists too, is replaced by the later value."""
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    merged = dict(base)
    for key, value in over.items():
        merged[key] = merge(base[key], value) if key in base else value
    return merged


def origin_of(location: Sequence[int | str], layers: Sequence[Layer]) -> str:
    """Return the label of the layer that decided a place: the last that goes deepest towards it."""
    deepest, label = -1, layers[-1].label
    for layer in layers:
        depth = _depth(location, layer.data)
        if depth >= deepest:
            deepest, label = depth, layer.label
    return label


def _depth(location: Sequence[int | str], value: Any) -> int:
    """Count how many steps of a location exist in a value."""
    for depth, part in enumerate(location):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return depth
    return len(location)
