"""Read a stored request back, exactly and without a second copy of its text."""

from io import BytesIO
from typing import Any

import orjson

from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.strict_json import parse_json
from reme_workers.compression import decompress

_BEYOND_64_BITS = 2.0**63


def read_request(stored: BytesIO) -> CompactionRequest:
    """Decompress, parse and validate a request.

    The fast parser reads bytes as they are. The exact one decodes them first, into four bytes a character if a
    single one is rare, so it is kept for what the fast one refuses (lone surrogates) or may have changed.

    Raises:
        InvalidRequestError, InvalidJSONError: it is not what was accepted.
    """
    body = decompress(stored)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = parse_json(body)
    else:
        if _may_have_been_an_integer(value):
            value = parse_json(body)
    return CompactionRequest.parse(value)


def _may_have_been_an_integer(value: Any) -> bool:
    """Tell whether a value holds a number as large as those that the fast parser turns from integers into fractions."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        if kind is dict:
            waiting.extend(item.values())
        elif kind is list:
            waiting.extend(item)
        elif kind is float and abs(item) >= _BEYOND_64_BITS:
            return True
    return False
