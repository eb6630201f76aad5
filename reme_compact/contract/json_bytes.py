"""Write JSON, including the few values that a history may hold and a fast writer refuses."""

import json
from collections.abc import Mapping
from typing import Any

import orjson

_PIECE_BYTES = 1024 * 1024


def json_bytes(value: Any) -> bytes:
    """Serialise plain data as UTF-8 JSON.

    Lone surrogates become escapes and integers of any size stay integers, so that a client gets back exactly
    what it sent.

    Raises:
        ValueError: a number is not finite (only where the value also holds something that orjson refuses).

    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def response_pieces(response: Mapping[str, Any]) -> list[bytes]:
    """Serialise the standard envelope in pieces of about a megabyte, whose concatenation is the JSON text.

    Writing and joining hold the interpreter for as long as they take, so a large history done at once would stall
    all other requests.
    """
    answer = dict(response["answer"])
    messages = answer.pop("messages")
    rest = {key: value for key, value in response.items() if key != "answer"}
    pieces: list[bytes] = []
    waiting = [b'{"answer":{"messages":[']
    size = 0
    for index, message in enumerate(messages):
        written = json_bytes(message)
        waiting.append(written if index == 0 else b"," + written)
        size += len(written)
        if size >= _PIECE_BYTES:
            pieces.append(b"".join(waiting))
            waiting, size = [], 0
    waiting += [b"],", json_bytes(answer)[1:], b",", json_bytes(rest)[1:]]
    return [*pieces, b"".join(waiting)]
