"""Write JSON, including the few values that a history may hold and a fast writer refuses."""

import json
from collections.abc import Mapping
from typing import Any

import orjson


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


def response_bytes(response: Mapping[str, Any]) -> bytes:
    """Serialise the standard envelope, a message at a time.

    The writer holds the interpreter while it works, so a large history written at once would stall all requests.
    """
    answer = dict(response["answer"])
    messages = b",".join(json_bytes(message) for message in answer.pop("messages"))
    rest = {key: value for key, value in response.items() if key != "answer"}
    return b'{"answer":{"messages":[%b],%b,%b' % (messages, json_bytes(answer)[1:], json_bytes(rest)[1:])
