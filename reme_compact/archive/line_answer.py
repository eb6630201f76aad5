"""The lines of an original that match, as a model reads them: each after the offset at which it can be read."""

from collections.abc import Iterable

from reme_compact.archive.matching_lines import MatchingLine
from reme_compact.history.graphemes import boundary_at_or_after, boundary_at_or_before

_LONGEST_LINE = 2_000
"""Of a longer line only a part around its match is shown."""

_CUT = "…"


def answer_with_lines(matches: Iterable[MatchingLine], max_chars: int, total_chars: int) -> str:
    """Return as many lines as have room, then a last line that says how many there are and how to go on.

    Args:
        matches: the lines that match, all of them.
        max_chars: room for the lines with their offsets; the first one is cut to fit.
        total_chars: length of the original.

    """
    shown: list[str] = []
    room = max_chars
    count = 0
    next_offset: int | None = None
    is_cut = False
    for match in matches:
        count += 1
        if next_offset is not None:
            continue
        offset, text = _shown(match, _LONGEST_LINE if shown else min(_LONGEST_LINE, max_chars))
        line = f"{offset}: {text}"
        if shown and len(line) + 1 > room:
            next_offset = match.offset
            continue
        shown.append(line)
        room -= len(line) + 1
        is_cut = is_cut or text != match.text
    return "\n".join([*shown, _last_line(len(shown), count, next_offset, total_chars, is_cut=is_cut)])


def _last_line(shown: int, count: int, next_offset: int | None, total_chars: int, *, is_cut: bool) -> str:
    if not count:
        return f"[No line matches. The original has {total_chars} characters.]"
    words = [f"{shown} of {count} matching lines, each after its offset in the original of {total_chars} characters."]
    if next_offset is not None:
        words.append(f"For the next ones, call again with offset={next_offset}.")
    if is_cut:
        words.append(f"Where {_CUT} stands a line goes on; a later match in it is found from an offset after the part.")
    words.append("To read on from a line, call with its offset and without grep.")
    return f"[{' '.join(words)}]"


def _shown(match: MatchingLine, most: int) -> tuple[int, str]:
    """Return a line with its offset, or of a long one the part around its match with the offset of that."""
    text = match.text
    if len(text) <= most:
        return match.offset, text
    found = match.found_at - match.offset
    start, end = _window(text, found, most)
    before, after = _CUT if start else "", _CUT if end < len(text) else ""
    return match.offset + start, f"{before}{text[start:end]}{after}"


def _window(text: str, found: int, size: int) -> tuple[int, int]:
    """Return the edges of a part of about `size` characters, a quarter of them before the match."""
    end = min(len(text), max(0, found - size // 4) + size)
    start = max(0, end - size)
    whole_start = boundary_at_or_before(text, start)
    whole_end = boundary_at_or_before(text, end)
    if whole_end <= found:
        whole_end = boundary_at_or_after(text, end)
    # A grapheme may be longer than any part.
    return (whole_start, whole_end) if whole_end - whole_start <= 2 * size else (start, end)
