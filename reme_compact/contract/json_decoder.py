"""The decoder behind `parse_json`: the standard one, with what it lets through refused."""

import json
import math
from typing import Any, NoReturn

from reme_compact.contract.errors import InvalidJSONError

MAX_DEPTH = 200
"""Deepest nesting of arrays and objects that is accepted; JSON writers recurse, so more would fail later."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise InvalidJSONError("A key stands twice in one object.")
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidJSONError(f"{name} is not a JSON number.")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise InvalidJSONError("A number is too large to be represented.")
    return number


def is_deeper_than(value: Any, limit: int) -> bool:
    """Tell whether arrays and objects are nested more than so many levels.

    Measure nesting breadth first, so that the measurement cannot itself recurse too deeply.
    """
    level = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if type(item) is dict or type(item) is list
            for child in (item.values() if type(item) is dict else item)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite)
