"""Fill `${VAR}` and `${VAR:-default}` in from the environment."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.validation import short
from reme_compact.presets.yaml_text import read_yaml_value

_PLACEHOLDER = re.compile(r"\$\$\{|\$\{([^}]*)(\}?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Template:
    """Text with placeholders that has not been filled in yet, and the file it stands in."""

    text: str
    file: str

    @property
    def variables(self) -> list[str]:
        """Names of the environment variables it asks for."""
        inner = (match[1] for match in _PLACEHOLDER.finditer(self.text))
        return [content.partition(":-")[0] for content in inner if content]


def mark_templates(value: Any, file: str) -> Any:
    """Return the value with every text that holds a placeholder replaced by a `Template`.

    Placeholders are filled in only after merging, so a value that a later file or an override replaces need not
    be resolvable.
    """
    if isinstance(value, dict):
        return {key: mark_templates(item, file) for key, item in value.items()}
    if isinstance(value, list):
        return [mark_templates(item, file) for item in value]
    if isinstance(value, str) and "${" in value:
        return Template(value, file)
    return value


def fill_templates(value: Any, environment: Mapping[str, str], path: str = "") -> Any:
    """Return the value with every `Template` filled in.

    Raises:
        ConfigurationError: names the file, the path and the variable that is not set.

    """
    if isinstance(value, dict):
        return {
            key: fill_templates(item, environment, f"{path}.{short(key)}" if path else short(key))
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [fill_templates(item, environment, f"{path}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Template):
        return _fill(value, environment, path)
    return value


def _fill(template: Template, environment: Mapping[str, str], path: str) -> Any:
    whole = _PLACEHOLDER.fullmatch(template.text)
    if whole is not None and whole[1] is not None:
        text, is_default = _resolve(whole, template, environment, path)
        return _as_scalar(text) if is_default else text

    def replace(match: re.Match[str]) -> str:
        if match[1] is None:
            return "${"
        return _resolve(match, template, environment, path)[0]

    return _PLACEHOLDER.sub(replace, template.text)


def _resolve(match: re.Match[str], template: Template, environment: Mapping[str, str], path: str) -> tuple[str, bool]:
    """Return the text of one placeholder, and whether it is the default."""
    name, has_default, default = match[1].partition(":-")
    if not match[2] or not _NAME.fullmatch(name) or "${" in default:
        raise ConfigurationError(
            f"{template.file}: {path}: a placeholder must be ${{VAR}} or ${{VAR:-default}}; "
            "write $${ for a literal ${."
        )
    value = environment.get(name)
    if has_default:
        return (value, False) if value else (default, True)
    if value is None:
        raise ConfigurationError(
            f"{template.file}: {path}: the environment variable {short(name)} is not set. Set it, also in a "
            f".env file, or give a default with ${{{short(name)}:-default}}."
        )
    return value, False


def _as_scalar(text: str) -> Any:
    try:
        value = read_yaml_value(text)
    except ValueError:
        return text
    return text if isinstance(value, dict | list) else value
