"""Write JSON on one line of UTF-8, whatever text it holds."""

import json
import re
from typing import Any

_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def to_json(value: Any) -> str:
    """Write a value as JSON without line breaks, lone surrogates, and what steers a terminal or the flow of text."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
