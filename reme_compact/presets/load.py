"""Load a preset: find it, merge what it extends, apply overrides, fill in the environment, check."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.validation import problems_of
from reme_compact.presets.environment import read_environment
from reme_compact.presets.interpolate import Template, fill_templates, mark_templates
from reme_compact.presets.locate import locate_preset
from reme_compact.presets.merge import Layer, merge, origin_of
from reme_compact.presets.override import LABEL, read_overrides
from reme_compact.presets.schema import Preset
from reme_compact.presets.yaml_text import read_yaml_file


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
        ConfigurationError: names the file and the path in it, never a value.

    """
    layers = _read_layers(locate_preset(preset), ())
    merged = _merge_all(layers)
    if overrides:
        layers.append(Layer(LABEL, read_overrides(overrides, merged)))
        merged = _merge_all(layers)
    filled = fill_templates(merged, read_environment() if environment is None else environment)
    try:
        return Preset.model_validate(filled)
    except ValidationError as error:
        raise ConfigurationError(_explain(error, merged, layers)) from None


def _read_layers(file: Path, extended_by: tuple[Path, ...]) -> list[Layer]:
    """Return what a file extends, most general first, then the file itself."""
    identity = file.resolve()
    chain = (*extended_by, identity)
    if identity in extended_by:
        raise ConfigurationError(
            f"{extended_by[-1]}: extends: leads back to itself: {' -> '.join(path.name for path in chain)}"
        )
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


def _explain(error: ValidationError, merged: dict[str, Any], layers: Sequence[Layer]) -> str:
    """Name file, path and fault of everything that is wrong, and the variable a wrong value came from."""
    lines = []
    for found, problem in zip(error.errors(include_url=False), problems_of(error, Preset), strict=True):
        place = f"{problem['path']}: " if problem["path"] else ""
        variable = _variable_at(found["loc"], merged)
        source = f" (from the environment variable {variable})" if variable else ""
        lines.append(f"{origin_of(found['loc'], layers)}: {place}{problem['message']}{source}")
    return "\n".join(lines)


def _variable_at(location: Sequence[int | str], merged: Any) -> str | None:
    value = merged
    for part in location:
        if not isinstance(value, dict) or part not in value:
            break
        value = value[part]
    return ", ".join(value.variables) if isinstance(value, Template) else None
