"""Read YAML from files and from single values, and say what is wrong with it without quoting it."""

from pathlib import Path
from typing import Any

import yaml

from reme_compact.contract.errors import ConfigurationError
from reme_compact.presets.yaml_loader import Loader, RefusedYAMLError

_MOST_BYTES = 1024 * 1024


def read_yaml_file(path: Path) -> dict[str, Any]:
    """Read a file that holds one YAML mapping; an empty file is an empty mapping.

    Raises:
        ConfigurationError: names the file, and the line where there is one; never quotes the file.

    """
    try:
        value = _load(_read_bounded(path).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: is not UTF-8 text.") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}).") from None
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path}{_explain(error)}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigurationError(f"{path}: must hold a YAML mapping.")
    return value


def read_yaml_value(text: str) -> Any:
    """Read one value, such as `4`, `null`, `text` or `[1, 2]`.

    Raises:
        ValueError: the text is not YAML, or is refused; never quotes it.

    """
    try:
        return _load(text)
    except yaml.YAMLError as error:
        why = f" ({error.problem})" if isinstance(error, RefusedYAMLError) else ""
        raise ValueError(f"is not valid YAML or JSON{why}") from None


def _read_bounded(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ConfigurationError(f"{path}: is larger than a preset may be ({_MOST_BYTES} bytes).")
    return content


def _load(text: str) -> Any:
    try:
        return yaml.load(text, Loader=Loader)  # noqa: S506 - a subclass of the safe loader
    except (ValueError, OverflowError):
        # An escape such as "\UFFFFFFFF" names a character that does not exist; the parser fails over it.
        raise yaml.YAMLError from None


def _explain(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return ": is not valid YAML."
    mark = error.problem_mark or error.context_mark
    place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    if isinstance(error, RefusedYAMLError):
        return f"{place}: cannot be used: {error.problem}."
    # A problem with a quotation in it would repeat a piece of the file, which may be a secret.
    problem = f" ({error.problem})" if error.problem and "'" not in error.problem else ""
    return f"{place}: is not valid YAML{problem}."
