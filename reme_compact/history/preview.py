"""Previews: what a replaced result reads as, and how one is recognised again."""

import re

from reme_compact.contract.messages import Block
from reme_compact.history.excerpt import GAP, excerpt
from reme_compact.history.sizes import serialized_chars

_MARKER_START = "[Compacted output. Recover from: "
_MARKER_END = "]"
_LINE_BREAKS_ADDED = GAP.count("\n") + 1
_UNUSABLE_REFERENCE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def is_usable_source_ref(source_ref: str) -> bool:
    """Tell whether a reference can stand in a marker: not blank, no control characters, no lone surrogates."""
    return bool(source_ref.strip()) and not _UNUSABLE_REFERENCE.search(source_ref)


def recovery_marker(source_ref: str) -> str:
    """Return the last line of a preview."""
    return f"{_MARKER_START}{source_ref}{_MARKER_END}"


def is_preview(text: str) -> bool:
    """Tell whether a result's text ends in a recovery marker line, whatever the reference.

    White space after the marker is tolerated: hosts that store results trim or add line breaks.
    """
    end = len(text)
    while end and text[end - 1].isspace():
        end -= 1
    if not end or text[end - 1] != _MARKER_END:
        return False
    line = text.rfind("\n", 0, end) + 1
    return text.startswith(_MARKER_START, line)


def preview_text(text: str, source_ref: str, preview_chars: int) -> str:
    """Return an excerpt of at most `preview_chars` characters, then the recovery marker on a line of its own."""
    return f"{excerpt(text, preview_chars)}\n{recovery_marker(source_ref)}"


def is_certainly_shorter(text: str, source_ref: str, preview_chars: int) -> bool:
    """Tell, without making it, that a preview is shorter than its text, also as JSON; false: make it and look."""
    escapes = _LINE_BREAKS_ADDED + source_ref.count('"') + source_ref.count("\\")
    longest = preview_chars + 1 + len(_MARKER_START) + len(source_ref) + len(_MARKER_END)
    return longest + escapes < len(text)


def is_shorter(preview: str, text: str, result: Block) -> bool:
    """Tell whether a preview is shorter than the text it stands for, and the block smaller as JSON.

    The second can fail where the first holds, when the reference is full of characters that JSON escapes.
    """
    if len(preview) >= len(text):
        return False
    # The excerpt's own escapes stand in the text too; only the gap, the marker's line and the reference add some.
    marker = preview.rfind("\n")
    escapes = _LINE_BREAKS_ADDED + preview.count('"', marker) + preview.count("\\", marker)
    if len(preview) + escapes < len(text):
        return True
    return serialized_chars(preview) < serialized_chars(result["output"])
