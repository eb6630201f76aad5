"""Read JSON text so that nothing is changed on the way in.

The standard parser accepts NaN and Infinity, turns `1e999` into infinity and lets the last of two equal keys
win. Each of those would make "what came in" differ from "what goes out", so each is refused here. Numbers with a
fraction or an exponent are read as IEEE doubles, as RFC 8259 (section 6) leads every sender to expect. Lone
surrogates are let through: a history that holds one must stay usable, and rules further in leave its pair
untouched.
"""

import codecs
import json
from typing import Any

from reme_compact.contract.errors import InvalidJSONError
from reme_compact.contract.json_decoder import DECODER, MAX_DEPTH, is_deeper_than
from reme_compact.contract.json_pieces import LARGE_BYTES, parse_in_pieces

_PIECE_BYTES = 1024 * 1024


def parse_json(text: str | bytes | bytearray) -> Any:
    """Parse JSON text strictly.

    Raises:
        InvalidJSONError: not JSON, not UTF-8, a number that is not finite, an integer of more than 4,300 digits,
            a key that stands twice in one object, or nesting deeper than `MAX_DEPTH`.

    """
    try:
        if not isinstance(text, str):
            if len(text) > LARGE_BYTES and (value := parse_in_pieces(text)) is not None:
                return value
            # Left to itself, the standard parser guesses encodings and lets surrogates through undecoded.
            text = _decode(text)
        value = DECODER.decode(text)
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
    if text.count("[") + text.count("{") > MAX_DEPTH and is_deeper_than(value, MAX_DEPTH):
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
