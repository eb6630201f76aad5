"""The shapes in which LangChain messages are serialized, and the one set of fields that all of them hold."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from reme_compact.history.formats.protocol import SourceMessage

_KINDS_BY_TYPE: Mapping[str, str] = MappingProxyType(
    {
        "human": "human",
        "HumanMessageChunk": "human",
        "ai": "ai",
        "AIMessageChunk": "ai",
        "system": "system",
        "SystemMessageChunk": "system",
        "tool": "tool",
        "ToolMessageChunk": "tool",
        "chat": "chat",
        "ChatMessageChunk": "chat",
        "function": "function",
        "FunctionMessageChunk": "function",
        "remove": "remove",
    }
)
_KINDS_BY_CLASS: Mapping[str, str] = MappingProxyType(
    {
        "HumanMessage": "human",
        "AIMessage": "ai",
        "SystemMessage": "system",
        "ToolMessage": "tool",
        "ChatMessage": "chat",
        "FunctionMessage": "function",
        "RemoveMessage": "remove",
    }
)


def kind_of(message: SourceMessage) -> str | None:
    """Return what a message is: human, ai, system, tool, chat, function or remove; null if it is none of these."""
    if "lc" in message:
        path = message.get("id")
        name = path[-1] if isinstance(path, list) and path else None
        return _KINDS_BY_CLASS.get(name.removesuffix("Chunk")) if isinstance(name, str) else None
    kind = message.get("type")
    return _KINDS_BY_TYPE.get(kind) if isinstance(kind, str) else None


def fields_key(message: SourceMessage) -> str | None:
    """Return where the fields of a message stand; null if they stand in the message itself.

    `dumpd` writes a constructor and its `kwargs`, `messages_to_dict` a type and `data`, and `model_dump` the fields
    alone.
    """
    if "lc" in message:
        return "kwargs"
    return "data" if "content" not in message else None


def fields_of(message: SourceMessage) -> dict[str, Any] | None:
    """Return the fields of a message; null if there are none where its shape has them."""
    key = fields_key(message)
    fields = message if key is None else message.get(key)
    return fields if isinstance(fields, dict) else None
