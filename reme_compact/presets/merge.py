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
    """Return the label of the layer that decided a place.

    That is the last that holds the place. Where none does, because something is missing there, it is the first that
    goes deepest towards it: it began what is incomplete, and later layers only added to it.
    """
    depths = [_depth(location, layer.data) for layer in layers]
    deepest = max(depths)
    index = len(depths) - 1 - depths[::-1].index(deepest) if deepest == len(location) else depths.index(deepest)
    return layers[index].label


def _depth(location: Sequence[int | str], value: Any) -> int:
    """Count how many steps of a location exist in a value."""
    for depth, part in enumerate(location):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return depth
    return len(location)
