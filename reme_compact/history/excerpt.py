"""Verbatim excerpts: both ends of a text, never more than a limit."""

from reme_compact.history.graphemes import boundary_at_or_after, boundary_at_or_before

GAP = "\n…\n"
"""Stands where an excerpt leaves text out."""


def excerpt(text: str, limit: int) -> str:
    """Return the text itself if it is short enough, else its head and tail around a gap.

    Args:
        text: any text.
        limit: most characters of the excerpt, gap included; 0 gives an empty excerpt.
    """
    if len(text) <= limit:
        return text
    if limit <= len(GAP):
        return text[: boundary_at_or_before(text, limit)]
    available = limit - len(GAP)
    head = (available + 1) // 2
    tail_start = len(text) - (available - head)
    return text[: boundary_at_or_before(text, head)] + GAP + text[boundary_at_or_after(text, tail_start) :]
