"""Where a text may be cut: between grapheme clusters (Unicode Annex 29), so never inside an emoji or a CRLF."""

from functools import cache
from typing import Any

_FIRST_WINDOW = 64
_REGIONAL_INDICATORS = "".join(map(chr, range(0x1F1E6, 0x1F200)))


def is_plain_boundary(text: str, index: int) -> bool:
    """Tell whether two plain ASCII characters meet at `index`, which settles nearly every case without a table."""
    before, after = text[index - 1], text[index]
    return before < "\x80" and after < "\x80" and not (before == "\r" and after == "\n")


def boundary_at_or_before(text: str, index: int) -> int:
    """Return the largest cluster boundary that is not after `index`, 0..len(text)."""
    if not 0 < index < len(text):
        return max(0, min(index, len(text)))
    before, after = text[index - 1], text[index]
    if before < "\x80" and after < "\x80" and (after != "\n" or before != "\r"):
        return index
    return _boundaries_around(text, index)[0]


def boundary_at_or_after(text: str, index: int) -> int:
    """Return the smallest cluster boundary that is not before `index`, 0..len(text)."""
    if not 0 < index < len(text):
        return max(0, min(index, len(text)))
    before, after = text[index - 1], text[index]
    if before < "\x80" and after < "\x80" and (after != "\n" or before != "\r"):
        return index
    return _boundaries_around(text, index)[1]


def _boundaries_around(text: str, index: int) -> tuple[int, int]:
    """Return the nearest cluster boundaries at or before, and at or after, an index inside the text."""
    if _is_regional_indicator(text[index - 1]) and _is_regional_indicator(text[index]):
        inside_a_flag = (index - _start_of_flags(text, index)) % 2 == 1
        return (index - 1, _cluster_end(text, index - 1)) if inside_a_flag else (index, index)
    start = _known_boundary_before(text, index)
    while True:
        end = _cluster_end(text, start)
        if end == index:
            return index, index
        if end > index:
            return start, end
        start = end


def _known_boundary_before(text: str, index: int) -> int:
    """Find a place to start segmenting: where plain characters meet, or far enough back to be sure.

    Segmenting from inside a cluster finds the right boundaries again once it has passed one.
    """
    window = _FIRST_WINDOW
    while True:
        earliest = max(0, index - window)
        for place in range(index - 1, earliest, -1):
            if is_plain_boundary(text, place):
                return place
        if earliest == 0:
            return 0
        start = earliest
        if _is_regional_indicator(text[start]):
            # Flags pair up from the beginning of their run, however far back that is.
            start -= (start - _start_of_flags(text, start)) % 2
        first = _cluster_end(text, start)
        second = _cluster_end(text, first) if first < index else index
        if second < index:
            return second
        window *= 8


def _cluster_end(text: str, start: int) -> int:
    """Return the end of the cluster that begins at `start`.

    Only a piece of the text is looked at, since the pattern looks behind its start as far as flags reach.
    """
    length = _FIRST_WINDOW
    while True:
        piece = text[start : start + length]
        end = int(_cluster_pattern().match(piece).end())
        if end < len(piece) or start + end >= len(text):
            return start + end
        length *= 8


def _start_of_flags(text: str, index: int) -> int:
    """Return where the run of regional indicators begins that reaches up to `index`."""
    return len(text[:index].rstrip(_REGIONAL_INDICATORS))


def _is_regional_indicator(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


@cache
def _cluster_pattern() -> Any:
    import regex  # noqa: PLC0415 - only texts that are cut beside a non-ASCII character need its tables

    return regex.compile(r"\X", regex.DOTALL)
