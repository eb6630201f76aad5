"""Server-sent events out of pieces of bytes, which may end anywhere."""

import re
from dataclasses import dataclass

_LINE_END = re.compile(b"\r\n|\n|\r")
_LONGEST = 1024 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class StreamFlawError(Exception):
    """What comes is no stream of events; the text says what is wrong."""


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event as it came: the last id so far, its type and its text."""

    id: str
    type: str
    data: str


class EventParser:
    """Reads one stream. An event counts when the empty line after it has come; one that breaks off never was."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._ended_in_return = False
        self._is_first = True
        self._id = ""
        self._type = ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[StreamEvent]:
        """Take the next bytes and return the events that they complete.

        Raises:
            StreamFlawError: a line or an event is longer than any that a service sends.

        """
        if not piece:
            return []
        if self._ended_in_return:
            piece = piece.removeprefix(b"\n")  # the other half of a line end
        self._ended_in_return = piece.endswith(b"\r")
        first, *others = _LINE_END.split(piece)
        self._line += first
        events = []
        for line in others:
            events += self._read(bytes(self._line))
            self._line[:] = line
        self._bound(len(self._line))
        return events

    def _read(self, line: bytes) -> list[StreamEvent]:
        if self._is_first:
            line, self._is_first = line.removeprefix(_BYTE_ORDER_MARK), False
        if not line:
            return self._complete()
        self._bound(len(line))
        name, _, value = line.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._size += len(value)
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif name == "id" and "\0" not in value:
            self._id = value
        return []  # comments and what newer services may send besides are passed over

    def _complete(self) -> list[StreamEvent]:
        events = [StreamEvent(self._id, self._type or "message", "\n".join(self._data))] if self._data else []
        self._type, self._data, self._size = "", [], 0
        return events

    def _bound(self, more: int) -> None:
        if self._size + more > _LONGEST:
            raise StreamFlawError("an event without end")
