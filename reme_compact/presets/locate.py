"""Find the file that a preset's name or path means."""

import difflib
from importlib.resources import files
from pathlib import Path

from reme_compact.contract.errors import ConfigurationError

_SUFFIXES = (".yaml", ".yml")


def locate_preset(preset: str | Path, *, beside: Path | None = None) -> Path:
    """Return the file of a preset.

    Args:
        preset: the name of a packaged preset, or a path: anything with a slash, ending in .yaml or .yml, or a
            `Path`.
        beside: the file that mentions the preset; a relative path starts in its folder.

    Raises:
        ConfigurationError: there is no such preset; names those that exist.

    """
    if _is_path(preset):
        path = Path(preset).expanduser()
        if beside is not None:
            path = beside.parent / path
        if not path.is_file():
            raise ConfigurationError(f"There is no preset file {path}.")
        return path
    packaged = packaged_presets()
    name = str(preset)
    if name in packaged:
        return packaged[name]
    close = difflib.get_close_matches(name.lower(), packaged, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    exist = ", ".join(sorted(packaged)) or "none"
    raise ConfigurationError(
        f"There is no preset named '{name}'.{hint} Presets that exist: {exist}. "
        "A file is named by its path, as in ./my_preset.yaml."
    )


def packaged_presets() -> dict[str, Path]:
    """Return the presets that come with the package, by name."""
    folder = _preset_folder()
    if folder is None:
        return {}
    return {path.stem: path for path in sorted(folder.iterdir()) if path.suffix in _SUFFIXES}


def _is_path(preset: str | Path) -> bool:
    if isinstance(preset, Path):
        return True
    return "/" in preset or "\\" in preset or preset.endswith(_SUFFIXES)


def _preset_folder() -> Path | None:
    """Return the installed presets, or in a source checkout its `config` folder."""
    package = Path(str(files("reme_compact")))
    installed, checkout = package / "_presets", package.parent
    if installed.is_dir():
        return installed
    if (checkout / "pyproject.toml").is_file() and (checkout / "config").is_dir():
        return checkout / "config"
    return None
