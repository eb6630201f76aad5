"""Write JSON, including the few values that a history may hold and a fast writer refuses."""

import json
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
