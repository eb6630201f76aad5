"""Messages as JSON, and how large that is, without writing a whole history at once."""

import json
from collections.abc import Callable
from typing import Any

import orjson

from reme_compact.contract.messages import Message

_SHORT = 256
_CHARS_OF_NULL = 4
_SCALARS = frozenset({int, float, bool, type(None)})


def compact_json(value: Any) -> str:
    """Write a value as compact JSON, also with the lone surrogates and large integers that a history may hold."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def serialized_chars(value: Any) -> int:
    """Return the number of characters of a value as compact JSON.

    Long texts are measured on a copy of their own: writing a text as UTF-8 makes the interpreter keep the result
    beside it for as long as it lives, and that would double the memory of a host's history.
    """
    if isinstance(value, str):
        return _text_chars(value)
    if isinstance(value, dict):
        return _object_chars(value)
    if isinstance(value, list):
        return 2 + max(0, len(value) - 1) + sum(map(serialized_chars, value))
    return _written_chars(value)


def _object_chars(value: dict[str, Any]) -> int:
    """Write short things together; measure long texts and containers apart, with a null in their place."""
    light = value
    apart = 0
    for key, item in value.items():
        kind = type(item)
        if kind is str:
            if len(item) <= _SHORT or item.isascii():
                continue
        elif kind in _SCALARS:
            continue
        if light is value:
            light = dict(value)
        light[key] = None
        apart += serialized_chars(item) - _CHARS_OF_NULL
    return apart + _written_chars(light)


def _written_chars(value: Any) -> int:
    try:
        written = orjson.dumps(value)
    except TypeError:
        return len(compact_json(value))
    return len(written) if written.isascii() else len(written.decode())


def _text_chars(text: str) -> int:
    if text.isascii():
        return len(orjson.dumps(text))
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        return len(compact_json(text))
    # Escapes are ASCII, so they add as many bytes as characters.
    return len(text) + len(orjson.dumps(encoded.decode())) - len(encoded)


def history_chars(messages: list[Message], check: Callable[[], None] = lambda: None) -> int:
    """Return the number of characters of a history as compact JSON, measured block by block.

    Block by block, so that a single message that holds a whole agent turn does not hold the interpreter either.
    `check` is called before each message and may raise.
    """
    total = 2 + max(0, len(messages) - 1)
    for message in messages:
        check()
        total += serialized_chars(message)
    return total
