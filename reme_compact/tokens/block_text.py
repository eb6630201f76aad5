"""The text of a content block that reaches a model, for counters that work on text."""

from typing import Any

from reme_compact.contract.messages import Block, Message
from reme_compact.history.sizes import compact_json

MESSAGE_OVERHEAD = 4
"""Tokens of role and separators per message, after OpenAI's published chat accounting (3 and the role)."""

BLOCK_OVERHEAD = 4
"""Tokens of the field names and braces that providers put around a tool call or result."""

IMAGE_TOKENS = 1600
"""Tokens of an image or other data block: the most that a large image costs by Anthropic's published formula."""


def message_overhead(message: Message) -> int:
    """Return the tokens of a message without its content."""
    return MESSAGE_OVERHEAD + (1 if message.get("name") else 0)


def block_texts(block: Block) -> list[str]:
    """Return the texts of a block that a provider sends to its model."""
    kind = block.get("type")
    if kind == "text":
        return _text(block.get("text"))
    if kind == "thinking":
        return _text(block.get("thinking"))
    if kind == "hint":
        return _text(block.get("hint"))
    if kind == "tool_call":
        return [*_text(block.get("id")), *_text(block.get("name")), *_text(block.get("input"))]
    if kind == "tool_result":
        return [*_text(block.get("id")), *_text(block.get("name")), *_text(block.get("output"))]
    return []


def data_blocks(block: Block) -> int:
    """Return how many images or other data blocks a block holds."""
    if block.get("type") == "data":
        return 1
    nested = block.get("output") if block.get("type") == "tool_result" else block.get("hint")
    if not isinstance(nested, list):
        return 0
    return sum(1 for item in nested if isinstance(item, dict) and item.get("type") == "data")


def _text(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    if value is None:
        return []
    if isinstance(value, list):
        return [
            text
            for item in value
            if not (isinstance(item, dict) and item.get("type") == "data")
            for text in (_text(item.get("text")) if isinstance(item, dict) and "text" in item else _text(item))
        ]
    return [compact_json(value)]
