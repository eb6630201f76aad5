"""The input of a tool call: a JSON object, written as text or already read."""

from typing import Any

from reme_compact.contract.errors import InvalidJSONError
from reme_compact.contract.messages import Block
from reme_compact.contract.strict_json import parse_json
from reme_compact.history.sizes import compact_json


def read_tool_input(call: Block) -> dict[str, Any] | None:
    """Return the input as an object; null if it is anything else, or JSON that cannot be carried faithfully."""
    value = call.get("input")
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except InvalidJSONError:
            return None
    return value if isinstance(value, dict) else None


def tool_input_text(call: Block) -> str:
    """Return the input as the text that the model wrote, or as compact JSON where it was already read."""
    value = call.get("input")
    return value if isinstance(value, str) else compact_json(value)
