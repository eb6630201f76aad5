"""Read YAML so that it means what it says: no tags, no duplicate keys, no surprising scalars."""

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from reme_compact.contract.errors import ConfigurationError


class _Loader(yaml.SafeLoader):
    """Safe loader with the scalars of YAML 1.2: `on` and `yes` are text, so are dates and `12:30`."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Construct a mapping, refusing a key that stands twice and a key that is not text."""
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                continue
            if key.tag != "tag:yaml.org,2002:str":
                raise yaml.constructor.ConstructorError(None, None, "a key is not text", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, "a key stands twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:[Tt]rue|TRUE|[Ff]alse|FALSE)$"), list("tTfF"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]{0,18})$"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$"),
    list("-+.0123456789"),
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile(r"^<<$"), ["<"])


def read_yaml_file(path: Path) -> dict[str, Any]:
    """Read a file that holds one YAML mapping; an empty file is an empty mapping.

    Raises:
        ConfigurationError: names the file, and the line where there is one; never quotes the file.

    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: is not UTF-8 text.") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}).") from None
    try:
        value = _load(text)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{path}{_explain(error)}") from None
    except RecursionError:
        raise ConfigurationError(f"{path}: is nested too deeply.") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigurationError(f"{path}: must hold a YAML mapping.")
    return value


def read_yaml_value(text: str) -> Any:
    """Read one value, such as `4`, `null`, `text` or `[1, 2]`.

    Raises:
        ValueError: the text is not YAML.

    """
    try:
        return _load(text)
    except (yaml.YAMLError, RecursionError):
        raise ValueError("is not valid YAML or JSON") from None


def _load(text: str) -> Any:
    return yaml.load(text, Loader=_Loader)  # noqa: S506 - a subclass of the safe loader


def _explain(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError):
        return ": is not valid YAML."
    mark = error.problem_mark or error.context_mark
    place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    # A problem with a quotation in it would repeat a piece of the file, which may be a secret.
    problem = f" ({error.problem})" if error.problem and "'" not in error.problem else ""
    return f"{place}: is not valid YAML{problem}."
