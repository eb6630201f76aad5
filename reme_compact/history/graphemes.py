"""Where a text may be cut: between grapheme clusters (Unicode Annex 29), so never inside an emoji or a CRLF."""

from functools import cache
from typing import Any

_FIRST_WINDOW = 64


def is_plain_boundary(text: str, index: int) -> bool:
    """Tell whether two plain ASCII characters meet at `index`, which settles nearly every case without a table."""
    before, after = text[index - 1], text[index]
    return before < "\x80" and after < "\x80" and not (before == "\r" and after == "\n")


def boundary_at_or_before(text: str, index: int) -> int:
    """Return the largest cluster boundary that is not after `index`, 0..len(text)."""
    if index <= 0:
        return 0
    if index >= len(text):
        return len(text)
    if is_plain_boundary(text, index):
        return index
    return _boundaries_around(text, index)[0]


def boundary_at_or_after(text: str, index: int) -> int:
    """Return the smallest cluster boundary that is not before `index`, 0..len(text)."""
    if index <= 0:
        return 0
    if index >= len(text):
        return len(text)
    if is_plain_boundary(text, index):
        return index
    return _boundaries_around(text, index)[1]


def _boundaries_around(text: str, index: int) -> tuple[int, int]:
    """Segment from a known boundary before `index` up to the cluster that holds it."""
    cluster = _cluster_pattern()
    start = _known_boundary_before(text, index)
    while True:
        end = cluster.match(text, start).end()
        if end == index:
            return index, index
        if end > index:
            return start, end
        start = end


def _known_boundary_before(text: str, index: int) -> int:
    """Find a place to start segmenting: where plain characters meet, or far enough back to be sure.

    Segmenting from inside a cluster finds the right boundaries again once it has passed one, except in a run of
    regional indicators (flags), whose pairing depends on where the run begins.
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
        while start > 0 and _is_regional_indicator(text[start]):
            start -= 1
        cluster = _cluster_pattern()
        first = cluster.match(text, start).end()
        second = cluster.match(text, first).end() if first < index else index
        if second < index:
            return int(second)
        window *= 8


def _is_regional_indicator(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


@cache
def _cluster_pattern() -> Any:
    import regex  # noqa: PLC0415 - only texts that are cut beside a non-ASCII character need its tables

    return regex.compile(r"\X", regex.DOTALL)
