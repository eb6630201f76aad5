"""Make foreign text safe and short enough for a terminal."""

import unicodedata

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: object) -> str:
    r"""Write a text on one line, every character that could steer a terminal spelled out (`\x1b`, `\u202e`)."""
    return "".join(_spell(character) for character in str(text))


def shorten(text: object, width: int) -> str:
    """Cut the middle out of a printable text that is longer than `width` characters."""
    shown = printable(text)
    if len(shown) <= width:
        return shown
    tail = (width - 1) // 2
    return f"{shown[: width - 1 - tail]}…{shown[len(shown) - tail :]}"


def cut(text: str, width: int) -> str:
    """Cut the end off a printable text that is longer than `width` characters."""
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def _spell(character: str) -> str:
    if unicodedata.category(character) not in _INVISIBLE:
        return character
    code = ord(character)
    if character in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
