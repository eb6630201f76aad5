"""The lines of an original in which a pattern is found."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reme_compact.archive.line_pattern import LinePattern


@dataclass(frozen=True, slots=True)
class MatchingLine:
    """One line.

    Attributes:
        offset: where it begins in the original, in code points.
        text: the line without its end (LF or CR LF).
        found_at: where in the original the pattern is first found in it.

    """

    offset: int
    text: str
    found_at: int


def matching_lines(
    text_pieces: Iterable[str], pattern: str, *, timeout_seconds: float, start: int = 0
) -> Iterator[MatchingLine]:
    """Find the lines that match, in order; the pieces are taken one after the other, as they are needed.

    Args:
        text_pieces: the whole original, cut anywhere.
        pattern: a regular expression, looked for in each line on its own.
        timeout_seconds: time for all searches together; reading the pieces does not count.
        start: look from this offset on, which may lie inside a line.

    Raises:
        InvalidRequestError: the pattern cannot be used (raised at once), or it takes too long; at path `grep`.

    """
    return _search(text_pieces, LinePattern(pattern, timeout_seconds=timeout_seconds), start)


def _search(text_pieces: Iterable[str], pattern: LinePattern, start: int) -> Iterator[MatchingLine]:
    for offset, line in _lines(text_pieces):
        if offset < start and offset + len(line) <= start:
            continue
        text = line.removesuffix("\r")
        found = pattern.find(text, max(0, start - offset))
        if found is not None:
            yield MatchingLine(offset, text, offset + found)


def _lines(text_pieces: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield each line without its LF, after its offset; nothing follows an LF at the very end."""
    offset = 0
    parts: list[str] = []
    for piece in text_pieces:
        first, *others = piece.split("\n")
        parts.append(first)
        for other in others:
            line = "".join(parts)
            yield offset, line
            offset += len(line) + 1
            parts = [other]
    line = "".join(parts)
    if line:
        yield offset, line
