"""Read JSON text so that nothing is changed on the way in.

The standard parser accepts NaN and Infinity, turns `1e999` into infinity and lets the last of two equal keys
win. Each of those would make "what came in" differ from "what goes out", so each is refused here. Numbers with a
fraction or an exponent are read as IEEE doubles, as RFC 8259 (section 6) leads every sender to expect. Lone
surrogates are let through: a history that holds one must stay usable, and rules further in leave its pair
untouched.
"""

import codecs
import json
import math
from typing import Any, NoReturn

from reme_compact.contract.errors import InvalidJSONError

_PIECE_BYTES = 1024 * 1024

MAX_DEPTH = 200
"""Deepest nesting of arrays and objects that is accepted; JSON writers recurse, so more would fail later."""


def parse_json(text: str | bytes | bytearray) -> Any:
    """Parse JSON text strictly.

    Raises:
        InvalidJSONError: not JSON, not UTF-8, a number that is not finite, an integer of more than 4,300 digits,
            a key that stands twice in one object, or nesting deeper than `MAX_DEPTH`.

    """
    try:
        # Left to itself, the standard parser guesses encodings and lets surrogates through undecoded.
        text = text if isinstance(text, str) else _decode(text)
        value = _DECODER.decode(text)
    except InvalidJSONError:
        raise
    except RecursionError:
        raise InvalidJSONError(f"The JSON is nested deeper than {MAX_DEPTH} levels.") from None
    except json.JSONDecodeError as error:
        raise InvalidJSONError(f"Not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    except UnicodeDecodeError as error:
        raise InvalidJSONError(f"Not valid UTF-8 at byte {error.start}.") from None
    except ValueError:
        raise InvalidJSONError("An integer has too many digits (at most 4,300 are accepted).") from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _deeper_than(value, MAX_DEPTH):
        raise InvalidJSONError(f"The JSON is nested deeper than {MAX_DEPTH} levels.")
    return value


def _decode(body: bytes | bytearray) -> str:
    """Decode UTF-8 a piece at a time, since decoding holds the interpreter for as long as it takes."""
    if len(body) <= _PIECE_BYTES:
        return body.decode("utf-8-sig")
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    view = memoryview(body)
    pieces = [decoder.decode(view[start : start + _PIECE_BYTES]) for start in range(0, len(view), _PIECE_BYTES)]
    return "".join([*pieces, decoder.decode(b"", final=True)])


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


def _deeper_than(value: Any, limit: int) -> bool:
    """Measure nesting breadth first, so that the measurement cannot itself recurse too deeply."""
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


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite)
