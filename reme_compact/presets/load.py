"""Load a preset: find it, merge what it extends, apply overrides, fill in the environment, check."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.validation import PROBLEMS_AT_MOST, problems_of, short
from reme_compact.presets.environment import read_environment
from reme_compact.presets.interpolate import Template, fill_templates, mark_templates
from reme_compact.presets.locate import locate_preset
from reme_compact.presets.merge import Layer, merge, origin_of
from reme_compact.presets.override import LABEL, OverrideError, read_overrides
from reme_compact.presets.schema import Preset
from reme_compact.presets.shape import misshapen_places
from reme_compact.presets.yaml_text import read_yaml_file

_LONGEST_CHAIN = 20


def load_preset(
    preset: str | Path = "decision_compaction",
    *,
    overrides: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Preset:
    """Load, merge and check a preset.

    Args:
        preset: name of a packaged preset, or a path (anything with a slash or ending in .yaml or .yml).
        overrides: dotted path in the preset to new value, as text; they win over everything else.
        environment: values for `${VAR}`. Null: `.env` in the working directory, under `os.environ`.

    Raises:
        OverrideError: the overrides are wrong, and only they.
        ConfigurationError: names the file and the path in it, never a value.

    """
    layers = _read_layers(locate_preset(preset), ())
    _check_shape(layers)
    merged = _merge_all(layers)
    if overrides:
        layers.append(Layer(LABEL, read_overrides(overrides, merged)))
        _check_shape(layers)
        merged = _merge_all(layers)
    filled = fill_templates(merged, read_environment() if environment is None else environment)
    try:
        return Preset.model_validate(filled)
    except ValidationError as error:
        _refuse(error, merged, layers)


def _check_shape(layers: Sequence[Layer]) -> None:
    """Refuse a layer that holds something else where a mapping belongs, also if a later layer would hide it."""
    faults = [(layer.label, place) for layer in layers for place in misshapen_places(layer.data)]
    if faults:
        told = faults[:PROBLEMS_AT_MOST]
        lines = [f"{label}: {place}: must be a mapping of names to values" for label, place in told]
        if len(faults) > PROBLEMS_AT_MOST:
            lines.append(f"and {len(faults) - PROBLEMS_AT_MOST} more problems")
        raise _error_for({label for label, _ in faults})("\n".join(lines))


def _error_for(labels: set[str]) -> type[ConfigurationError]:
    return OverrideError if labels == {LABEL} else ConfigurationError


def _read_layers(file: Path, extended_by: tuple[Path, ...]) -> list[Layer]:
    """Return what a file extends, most general first, then the file itself."""
    identity = Path(os.path.realpath(file))
    chain = (*extended_by, identity)
    if identity in extended_by:
        raise ConfigurationError(
            f"{extended_by[-1]}: extends: leads back to itself: {' -> '.join(path.name for path in chain)}"
        )
    if len(chain) > _LONGEST_CHAIN:
        raise ConfigurationError(f"{file}: more than {_LONGEST_CHAIN} presets extend one another")
    data = mark_templates(read_yaml_file(file), str(file))
    base = data.pop("extends", None)
    if base is None:
        return [Layer(str(file), data)]
    if not isinstance(base, str):
        raise ConfigurationError(f"{file}: extends: must be the name or the path of one preset")
    try:
        base_file = locate_preset(base, beside=file)
    except ConfigurationError as error:
        raise ConfigurationError(f"{file}: extends: {error.message}") from None
    return [*_read_layers(base_file, chain), Layer(str(file), data)]


def _merge_all(layers: Sequence[Layer]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = merge(merged, layer.data)
    return merged


def _refuse(error: ValidationError, merged: dict[str, Any], layers: Sequence[Layer]) -> NoReturn:
    """Name file, path and fault of everything that is wrong, and the variable a wrong value came from.

    Raises:
        OverrideError: the overrides are wrong, and only they.
        ConfigurationError: a file or the environment is wrong.

    """
    locations = [found["loc"] for found in error.errors(include_url=False, include_input=False, include_context=False)]
    origins = [origin_of(location, layers) for location in locations]
    problems = problems_of(error, Preset)
    lines = []
    for location, origin, problem in zip(locations, origins, problems[:PROBLEMS_AT_MOST], strict=False):
        place = f"{problem['path']}: " if problem["path"] else ""
        variable = _variable_at(location, merged)
        source = f" (from the environment variable {variable})" if variable else ""
        lines.append(f"{origin}: {place}{problem['message']}{source}")
    lines.extend(problem["message"] for problem in problems[PROBLEMS_AT_MOST:])
    raise _error_for(set(origins))("\n".join(lines)) from None


def _variable_at(location: Sequence[int | str], merged: Any) -> str | None:
    value = merged
    for part in location:
        if not isinstance(value, dict) or part not in value:
            break
        value = value[part]
    return ", ".join(map(short, value.variables)) if isinstance(value, Template) else None
