"""Write JSON on one line of UTF-8, whatever text it holds."""

import json
import re
from typing import Any

_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def to_json(value: Any) -> str:
    """Write a value as JSON that has no line break, no control character and no lone surrogate in it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
