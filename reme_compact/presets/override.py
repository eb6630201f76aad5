"""Overrides: `a.b.c=value`, where the preset's schema says what may stand at `a.b.c` and how to read the value."""

import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr

from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.validation import unknown_key
from reme_compact.presets.schema import Preset
from reme_compact.presets.yaml_text import read_yaml_value

LABEL = "override"


def read_overrides(overrides: Mapping[str, str], preset: Mapping[str, Any]) -> dict[str, Any]:
    """Return the overrides as one nested mapping, to be laid over the preset.

    Where the schema wants text, the value is text (`api_key=123`); `null` stands for nothing where nothing is
    allowed. Everywhere else the value is read as YAML or JSON.

    Args:
        overrides: dotted path to value, as text. Of two that overlap, the later wins.
        preset: the merged preset, which says which names exist under `jobs` and `components`.

    Raises:
        ConfigurationError: a path that does not exist, by name, with the closest that does; never the value.

    """
    nested: dict[str, Any] = {}
    for path, text in overrides.items():
        parts = path.split(".")
        kind = _kind_at(parts, preset)
        parent = nested
        for part in parts[:-1]:
            child = parent.setdefault(part, {})
            if not isinstance(child, dict):
                raise ConfigurationError(f"{LABEL}: {path}: another override already replaces '{part}'.")
            parent = child
        parent[parts[-1]] = _read(text, kind, path)
    return nested


def _kind_at(parts: list[str], preset: Mapping[str, Any]) -> Any:
    """Return the type that the schema gives to a path."""
    kind: Any = Preset
    here: Any = preset
    for position, part in enumerate(parts):
        known = _names_in(kind, here)
        if part not in known:
            place = ".".join(parts[: position + 1])
            within = f" of {'.'.join(parts[:position])}" if position and known else ""
            problem = unknown_key(part, list(known)) if known else "there is nothing below this"
            raise ConfigurationError(f"{LABEL}: {place}: {problem}{within}")
        kind = known[part]
        here = here.get(part) if isinstance(here, Mapping) else None
    return kind


def _names_in(kind: Any, here: Any) -> dict[str, Any]:
    """Return what may stand below a place, with its types: a model's fields, or a mapping's present keys."""
    for option in _options(kind):
        if isinstance(option, type) and issubclass(option, BaseModel):
            return {name: field.annotation for name, field in option.model_fields.items()}
        if get_origin(option) is dict:
            return dict.fromkeys(here, get_args(option)[1]) if isinstance(here, Mapping) else {}
    return {}


def _read(text: str, kind: Any, path: str) -> Any:
    options = _options(kind)
    wants_text = any(option in (str, SecretStr) or get_origin(option) is Literal for option in options)
    try:
        value = read_yaml_value(text)
    except ValueError as error:
        if wants_text:
            return text
        raise ConfigurationError(f"{LABEL}: {path}: {error}") from None
    if not wants_text or isinstance(value, str) or (value is None and type(None) in options):
        return value
    return text


def _options(kind: Any) -> tuple[Any, ...]:
    if get_origin(kind) in (Union, types.UnionType):
        return get_args(kind)
    return (kind,)
