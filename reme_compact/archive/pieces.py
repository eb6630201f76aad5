"""Pieces of a long text that an agent reads one after the other, none of which splits a grapheme."""

from dataclasses import dataclass
from typing import Protocol

from reme_compact.contract.errors import InvalidRequestError
from reme_compact.history.graphemes import boundary_at_or_after, boundary_at_or_before

DEFAULT_PIECE_CHARS = 8_192
MOST_PIECE_CHARS = 16_384
"""Most characters of a piece, whatever is asked for; a grapheme that is longer still is cut."""

_FIRST_LOOK_BACK = 256
_REGIONAL_INDICATORS = "".join(map(chr, range(0x1F1E6, 0x1F200)))


class CharacterSource(Protocol):
    """A text that is read in parts."""

    @property
    def total(self) -> int:
        """Length in code points."""
        ...

    def characters(self, start: int, end: int) -> str:
        """Return the code points from `start` up to `end`, both within the text."""
        ...


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece.

    Attributes:
        text: the piece itself, verbatim.
        offset: where it begins, in code points; less than what was asked for if that was inside a grapheme.
        next_offset: where the next piece begins; null after the last.
        total_chars: length of the whole text.
        complete: whether nothing follows.

    """

    text: str
    offset: int
    next_offset: int | None
    total_chars: int
    complete: bool


def cut_piece(source: CharacterSource, offset: int, max_chars: int) -> Piece:
    """Return the piece of at most `max_chars` characters that begins at an offset.

    A single grapheme that is longer than `max_chars`, but not than a piece may ever be, is returned whole; only one
    that is longer than any piece may be is cut. So reading on from `next_offset` gives the text exactly, also if
    every read asks for another number of characters.

    Raises:
        InvalidRequestError: the offset is not within the text, or `max_chars` not within 1..16,384.

    """
    total = source.total
    _check_range("offset", offset, 0, total)
    _check_range("max_chars", max_chars, 1, MOST_PIECE_CHARS)
    if offset == total:
        return Piece("", offset, None, total, complete=True)
    grapheme = _grapheme_start(source, offset)
    start = grapheme
    if grapheme != offset and _grapheme_length(source, grapheme) > MOST_PIECE_CHARS:
        start = offset
    end = _end(source, grapheme, start, max_chars)
    complete = end == total
    return Piece(source.characters(start, end), start, None if complete else end, total, complete)


def _end(source: CharacterSource, grapheme: int, start: int, max_chars: int) -> int:
    """Return where a piece ends that begins at `start`, in the grapheme that begins at `grapheme`."""
    limit = start + max_chars
    if limit >= source.total:
        return source.total
    # The character at the limit decides with the one before it whether a grapheme ends there.
    end = grapheme + boundary_at_or_before(source.characters(grapheme, limit + 1), limit - grapheme)
    if end > start:
        return end
    length = _grapheme_length(source, grapheme)
    return limit if length > MOST_PIECE_CHARS else grapheme + length


def _grapheme_start(source: CharacterSource, offset: int) -> int:
    """Return where the grapheme begins that the character at an offset, within the text, is part of."""
    look_back = _FIRST_LOOK_BACK
    while True:
        start = max(0, offset - look_back)
        text = source.characters(start, offset + 1)
        certain = 0 if start == 0 else _certain_boundary(text)
        if certain is not None:
            return start + certain + boundary_at_or_before(text[certain:], offset - start - certain)
        look_back *= 8


def _certain_boundary(text: str) -> int | None:
    """Find a boundary, not after the last character, that holds whatever stands before this part of a text.

    Flags pair up from the beginning of their run, which may lie before the part, so such a run is skipped. After
    that the first boundary found may be wrong, as the part may begin inside a grapheme; the second one is right.
    """
    start = len(text) - len(text.lstrip(_REGIONAL_INDICATORS))
    rest = text[start:]
    first = boundary_at_or_after(rest, 1)
    second = boundary_at_or_after(rest, first + 1)
    return start + second if second < len(rest) else None


def _grapheme_length(source: CharacterSource, start: int) -> int:
    """Return the length of the grapheme that begins at `start`; of one longer than any piece, only that it is."""
    text = source.characters(start, min(source.total, start + MOST_PIECE_CHARS + 1))
    return boundary_at_or_after(text, 1)


def _check_range(path: str, value: int, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise InvalidRequestError([{"path": path, "message": f"must be a whole number from {least} to {most}"}])
