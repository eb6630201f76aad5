"""Where a preset must hold a mapping, whatever is laid over it later.

Laying a mapping over something that is none replaces it, so after merging the mistake could no longer be seen.
"""

import types
from collections.abc import Iterator, Mapping
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from reme_compact.contract.validation import short
from reme_compact.presets.schema import Preset


def names_below(kind: Any, here: Any) -> dict[str, Any] | None:
    """Return what may stand below a place, with its types; null where the schema wants no mapping.

    Args:
        kind: the type that the schema gives to the place.
        here: what the preset holds there; its keys are the names in a mapping with free keys.

    """
    for option in options_of(kind):
        if isinstance(option, type) and issubclass(option, BaseModel):
            return {name: field.annotation for name, field in option.model_fields.items()}
        if get_origin(option) is dict:
            return dict.fromkeys(here, get_args(option)[1]) if isinstance(here, Mapping) else {}
    return None


def options_of(kind: Any) -> tuple[Any, ...]:
    """Return the members of a union, or the type itself."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def misshapen_places(data: Any, kind: Any = Preset, place: str = "") -> Iterator[str]:
    """Yield the dotted path of everything that should be a mapping and is not."""
    below = names_below(kind, data)
    if below is None or (data is None and type(None) in options_of(kind)):
        return
    if not isinstance(data, Mapping):
        yield place
        return
    for name in below:
        if name in data:
            yield from misshapen_places(data[name], below[name], f"{place}.{short(name)}" if place else name)
