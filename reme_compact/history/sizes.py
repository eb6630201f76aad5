"""Messages as JSON, and how large that is, without writing a whole history at once."""

import json
from typing import Any

import orjson

from reme_compact.contract.messages import Message


def compact_json(value: Any) -> str:
    """Write a value as compact JSON, also with the lone surrogates and large integers that a history may hold."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def serialized_chars(value: Any) -> int:
    """Return the number of characters of a value as compact JSON."""
    try:
        written = orjson.dumps(value)
    except TypeError:
        return len(compact_json(value))
    return len(written) if written.isascii() else len(written.decode())


def history_chars(messages: list[Message]) -> int:
    """Return the number of characters of a history as compact JSON, measured block by block.

    Block by block, so that a single message that holds a whole agent turn does not hold the interpreter either.
    """
    total = 2 + max(0, len(messages) - 1)
    for message in messages:
        content = message["content"]
        total += serialized_chars({**message, "content": []}) + max(0, len(content) - 1)
        for block in content:
            total += serialized_chars(block)
    return total
