"""Where the value of an argument comes from: itself, a file, or standard input."""

import re
from dataclasses import dataclass
from typing import Literal

_ESCAPED_DASH = re.compile(r"\\+-")
_DASHES = re.compile(r"\\*-")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a value comes from; `text` is the value itself, or the path of its file."""

    kind: Literal["literal", "file", "standard_input"]
    text: str = ""


def find_source(value: str) -> Source:
    """Tell where a value comes from, and undo the escapes of a literal one."""
    if value == "-":
        return Source("standard_input")
    if value.startswith("@@") or _ESCAPED_DASH.fullmatch(value):
        return Source("literal", value[1:])
    if value.startswith("@"):
        return Source("file", value[1:])
    return Source("literal", value)


def escape(text: str) -> str:
    """Write a text so that `find_source` reads it as that literal text."""
    if text.startswith("@"):
        return "@" + text
    if _DASHES.fullmatch(text):
        return "\\" + text
    return text
