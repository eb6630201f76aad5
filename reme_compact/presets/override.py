"""Overrides: `a.b.c=value`, where the preset's schema says what may stand at `a.b.c` and how to read the value."""

from collections.abc import Mapping
from typing import Any, Literal, get_origin

from pydantic import SecretStr

from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.validation import short, unknown_key
from reme_compact.presets.schema import ApiKeySettings, Preset
from reme_compact.presets.shape import names_below, options_of
from reme_compact.presets.yaml_text import read_yaml_value

LABEL = "override"
_NULLS = ("", "~", "null")
_KEYS = ["service", "api_keys"]
"""Where an override may add a name; anywhere else, a name that the preset lacks is a mistake."""


class OverrideError(ConfigurationError):
    """Overrides are wrong, and nothing but overrides; the files are not at fault."""


def read_overrides(overrides: Mapping[str, str], preset: Mapping[str, Any]) -> dict[str, Any]:
    """Return the overrides as one nested mapping, to be laid over the preset.

    Where the schema wants text, the value is text (`api_key=123`), quoted or not; `null` stands for nothing where
    nothing is allowed. Everywhere else the value is read as YAML or JSON.

    Args:
        overrides: dotted path to value, as text. Of two that overlap, the later wins.
        preset: the merged preset, which says which names exist under `jobs` and `components`.

    Raises:
        OverrideError: a path that does not exist, by name, with the closest that does; never the value.

    """
    nested: dict[str, Any] = {}
    for path, text in overrides.items():
        parts = path.split(".")
        place = _place(parts)
        kind = _kind_at(parts, preset)
        parent = nested
        for part in parts[:-1]:
            child = parent.setdefault(part, {})
            if not isinstance(child, dict):
                raise OverrideError(f"{LABEL}: {place}: another override already replaces '{short(part)}'.")
            parent = child
        parent[parts[-1]] = _read(text, kind, place)
    return nested


def _kind_at(parts: list[str], preset: Mapping[str, Any]) -> Any:
    """Return the type that the schema gives to a path."""
    kind: Any = Preset
    here: Any = preset
    for position, part in enumerate(parts):
        known = names_below(kind, here) or {}
        if parts[:position] == _KEYS:
            known.setdefault(part, ApiKeySettings)
        if part not in known:
            place = _place(parts[: position + 1])
            problem = unknown_key(part, list(known)) if known else "there is nothing below this"
            raise OverrideError(f"{LABEL}: {place}: {problem}")
        kind = known[part]
        here = here.get(part) if isinstance(here, Mapping) else None
    return kind


def _place(parts: list[str]) -> str:
    return ".".join(map(short, parts))


def _read(text: str, kind: Any, place: str) -> Any:
    options, bare = options_of(kind), text.strip()
    wants_text = any(option in (str, SecretStr) or get_origin(option) is Literal for option in options)
    if wants_text and not bare.startswith(("'", '"')):
        return None if bare.lower() in _NULLS and type(None) in options else bare
    try:
        value = read_yaml_value(text)
    except ValueError as error:
        if wants_text:
            return bare
        raise OverrideError(f"{LABEL}: {place}: {error}") from None
    return value if isinstance(value, str) or not wants_text else bare
