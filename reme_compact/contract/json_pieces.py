"""Read a large JSON object without ever holding all of its text.

Decoded text takes up to four bytes a character if a single character in it is rare, so the text of a large request is
several times its body. Here a window of it is decoded at a time: members of the outermost object are read one by one,
and so are the elements of their arrays.
"""

import codecs
import json
import re
from typing import Any

from reme_compact.contract.errors import InvalidJSONError
from reme_compact.contract.json_decoder import DECODER, MAX_DEPTH, is_deeper_than

LARGE_BYTES = 4 * 1024 * 1024
"""A body up to this size is decoded as a whole."""

_WINDOW_BYTES = 1024 * 1024
_WHITE_SPACE = re.compile(r"[ \t\n\r]*")


class _NotReadableError(Exception):
    """This is no JSON object; whoever reads it as a whole can say what is wrong, and where."""


def parse_in_pieces(body: bytes | bytearray) -> dict[str, Any] | None:
    """Parse an object as strictly as `parse_json` does; null if it is none, or broken.

    Raises:
        InvalidJSONError: it holds what is refused though it is JSON.
        RecursionError: it is nested far too deeply.
        ValueError: it is not UTF-8, or a number has too many digits.
    """
    try:
        return _Reader(body).read()
    except (_NotReadableError, json.JSONDecodeError):
        return None


class _Reader:
    """Reads tokens and values from a window that moves over a body."""

    def __init__(self, body: bytes | bytearray) -> None:
        self._body = memoryview(body)
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._read_bytes = 0
        self._text = ""
        self._at = 0

    def read(self) -> dict[str, Any]:
        self._expect("{")
        result: dict[str, Any] = {}
        if self._next() == "}":
            self._expect("}")
        else:
            self._members(result)
        if self._next():
            raise _NotReadableError
        return result

    def _members(self, result: dict[str, Any]) -> None:
        while True:
            key = self._value(1) if self._next() == '"' else self._refuse()
            if key in result:
                raise InvalidJSONError("A key stands twice in one object.")
            self._expect(":")
            result[key] = self._array() if self._next() == "[" else self._value(1)
            if self._either(",", "}") == "}":
                return

    def _array(self) -> list[Any]:
        self._expect("[")
        items: list[Any] = []
        if self._next() == "]":
            self._expect("]")
            return items
        while True:
            items.append(self._value(2))
            if self._either(",", "]") == "]":
                return items

    def _value(self, levels_around: int) -> Any:
        self._next()
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                if not self._fill():
                    raise
                continue
            # What ends with the window may go on behind it, as 12 of 123 does.
            if end < len(self._text) or not self._fill():
                break
        opened = self._text.count("[", self._at, end) + self._text.count("{", self._at, end)
        allowed = MAX_DEPTH - levels_around
        if opened > allowed and is_deeper_than(value, allowed):
            raise InvalidJSONError(f"The JSON is nested deeper than {MAX_DEPTH} levels.")
        self._at = end
        return value

    def _next(self) -> str:
        """Skip white space and return the character that follows, or nothing at the end."""
        while True:
            space = _WHITE_SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill():
                return ""

    def _expect(self, character: str) -> None:
        self._either(character, character)

    def _either(self, one: str, other: str) -> str:
        found = self._next()
        if found != one and found != other:  # noqa: PLR1714 - at the end nothing is found, which is in every text
            self._refuse()
        self._at += 1
        return found

    def _refuse(self) -> Any:
        raise _NotReadableError

    def _fill(self) -> bool:
        """Decode more text behind what is left of the window, at least as much again; false: there is no more."""
        if self._read_bytes >= len(self._body):
            return False
        size = max(_WINDOW_BYTES, len(self._text) - self._at)
        piece = self._body[self._read_bytes : self._read_bytes + size]
        self._read_bytes += len(piece)
        is_last = self._read_bytes >= len(self._body)
        self._text = self._text[self._at :] + self._decoder.decode(piece, final=is_last)
        self._at = 0
        return True
