"""What differs between a message and a changed copy of it, whatever they are made of, as the texts that differ."""

from collections.abc import Iterator
from typing import Any, TypeAlias

Change: TypeAlias = tuple[str, str]
"""What was read in one place, and what is read there now."""

_ABSENT = object()


def changed_texts(before: Any, now: Any) -> list[Change] | None:
    """Return the texts in which a changed copy of JSON data differs; null if anything else differs too.

    A list of text parts may have become a text, or one part without a field that none of them had. What both share is
    not looked at.
    """
    changes: list[Change] = []
    for old, new in _differences(before, now):
        if not _is_text_for_text(old, new):
            return None
        changes.append((_text(old), _text(new)))
    return changes


def _differences(before: Any, now: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the smallest parts that differ, each as it was and as it is."""
    if before is now:
        return
    if isinstance(before, dict) and isinstance(now, dict) and before.keys() <= now.keys():
        for key, value in now.items():
            yield from _differences(before.get(key, _ABSENT), value)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for old, new in zip(before, now, strict=True):
            yield from _differences(old, new)
    elif type(before) is not type(now) or before != now:
        yield before, now


def _is_text_for_text(old: Any, new: Any) -> bool:
    parts = old if isinstance(old, list) else []
    if not (old is _ABSENT or isinstance(old, str | list)) or not all(map(_has_text, parts)):
        return False
    if isinstance(new, str):
        return True
    if not isinstance(old, list) or not isinstance(new, list) or len(new) != 1 or not _has_text(new[0]):
        return False
    known = [("type", "text"), *(field for part in parts if isinstance(part, dict) for field in part.items())]
    fields = new[0].items() if isinstance(new[0], dict) else ()
    return all(field in known for field in fields if field[0] != "text")


def _has_text(part: Any) -> bool:
    return isinstance(part, str) or (isinstance(part, dict) and isinstance(part.get("text"), str))


def _text(value: Any) -> str:
    """Return what a text, or a list of texts and text parts, reads; what is absent reads as the empty text."""
    if isinstance(value, list):
        return "\n".join(part if isinstance(part, str) else part["text"] for part in value)
    return value if isinstance(value, str) else ""
