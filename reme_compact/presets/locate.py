"""Find the file that a preset's name or path means."""

import difflib
import errno
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.validation import short

_SUFFIXES = (".yaml", ".yml")
_LONGEST_PATH = 200


def locate_preset(preset: str | Path, *, beside: Path | None = None) -> Path:
    """Return the file of a preset.

    Args:
        preset: the name of a packaged preset, or a path: anything with a slash, ending in .yaml or .yml, or a
            `Path`.
        beside: the file that mentions the preset; a relative path starts in its folder.

    Raises:
        ConfigurationError: there is no such preset, with those that exist; or its file cannot be looked at.

    """
    if _is_path(preset):
        return _existing(Path(preset), beside)
    packaged = packaged_presets()
    name = str(preset)
    if name in packaged:
        return packaged[name]
    shown = short(name)
    close = difflib.get_close_matches(shown.lower(), packaged, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    exist = ", ".join(sorted(packaged)) or "none"
    raise ConfigurationError(
        f"There is no preset named '{shown}'.{hint} Presets that exist: {exist}. "
        "A file is named by its path, as in ./my_preset.yaml."
    )


def packaged_presets() -> dict[str, Path]:
    """Return the presets that come with the package, by name."""
    folder = _preset_folder()
    if folder is None:
        return {}
    return {path.stem: path for path in sorted(folder.iterdir()) if path.suffix in _SUFFIXES}


def _existing(path: Path, beside: Path | None) -> Path:
    with suppress(RuntimeError):  # no such user, or a user without a home: then ~ is a name like any other
        path = path.expanduser()
    if beside is not None:
        path = beside.parent / path
    try:
        if path.is_file():
            return path
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise ConfigurationError(f"The preset file {_shown(path)} cannot be read ({error.strerror}).") from None
    raise ConfigurationError(f"There is no preset file {_shown(path)}.")


def _shown(path: Path) -> str:
    """Show a path with its end, where the name is, if it is too long to be shown whole."""
    text = str(path)
    return text if len(text) <= _LONGEST_PATH else f"…{text[-_LONGEST_PATH:]}"


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
