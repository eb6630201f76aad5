"""Messages as JSON, and how large that is, without writing a whole history at once."""

import json
from collections.abc import Callable
from typing import Any

import orjson

from reme_compact.contract.messages import Message

_SHORT = 256
_CHARS_OF_NULL = 4


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
    apart = 0
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, dict | list) or (isinstance(item, str) and len(item) > _SHORT and not item.isascii()):
                value = {**value, key: None}
                apart += serialized_chars(item) - _CHARS_OF_NULL
    elif isinstance(value, list):
        return 2 + max(0, len(value) - 1) + sum(map(serialized_chars, value))
    try:
        written = orjson.dumps(value)
    except TypeError:
        return apart + len(compact_json(value))
    return apart + (len(written) if written.isascii() else len(written.decode()))


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
