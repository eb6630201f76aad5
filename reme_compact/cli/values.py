"""Read a value by the type of its key."""

import re
from typing import Any, NoReturn

from reme_compact.cli.request_keys import Key
from reme_compact.cli.source import Source
from reme_compact.cli.source_text import read_text
from reme_compact.cli.suggestions import meant_by_value
from reme_compact.cli.usage import UsageError
from reme_compact.contract.errors import InvalidJSONError
from reme_compact.contract.strict_json import parse_json

_INTEGER = re.compile(r"[+-]?[0-9]{1,4300}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_EXAMPLES = {"object": """ such as '{"a":"b"}'""", "list": """ such as '["a","b"]'""", "any": " value"}
_JSON_KINDS = frozenset({"object", "list", "any"})
_TRUTHS = {"true": True, "false": False}


def read_value(path: str, key: Key, source: Source) -> Any:
    """Read the value of a key, which stands at `path` on the command line.

    Raises:
        UsageError: names the path and what is wrong; never the value.

    """
    text = read_text(path, source)
    try:
        return convert(path, key, text)
    except UsageError:
        meant = meant_by_value(path, source, text) if key.kind in _JSON_KINDS else None
        if meant is None:
            raise
        raise UsageError(f"{path}: must be a {key.type_words}; {meant}") from None


def convert(path: str, key: Key, text: str) -> Any:
    """Turn text into a value of the key's type."""
    if key.kind == "text":
        return text
    bare = text.strip()
    if key.nullable and bare == "null":
        return None
    if key.kind == "integer" and _INTEGER.fullmatch(bare):
        return int(bare)
    if key.kind == "number" and _NUMBER.fullmatch(bare):
        return _finite(path, bare)
    if key.kind == "boolean" and bare.lower() in _TRUTHS:
        return _TRUTHS[bare.lower()]
    if key.kind in _JSON_KINDS:
        return _read_json(path, key, text)
    return _refuse(path, key)


def _finite(path: str, digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise UsageError(f"{path}: the number is too large.")
    return number


def _read_json(path: str, key: Key, text: str) -> Any:
    try:
        value = parse_json(text)
    except InvalidJSONError as error:
        raise UsageError(f"{path}: must be a {key.type_words}{_EXAMPLES[key.kind]}. {error.message}") from None
    wanted = {"object": dict, "list": list}.get(key.kind)
    return value if wanted is None or isinstance(value, wanted) else _refuse(path, key)


def _refuse(path: str, key: Key) -> NoReturn:
    article = "" if key.kind == "boolean" else "a "
    raise UsageError(f"{path}: must be {article}{key.type_words}{_EXAMPLES.get(key.kind, '')}.")
