"""Histories as LangChain serializes them, made of Chat Completions messages."""

import json
from typing import Any, Literal

from chat_histories import ChatMessage

Shape = Literal["data", "constructor", "fields"]
SHAPES: tuple[Shape, ...] = ("data", "constructor", "fields")

_CLASSES = {
    "human": "HumanMessage",
    "ai": "AIMessage",
    "system": "SystemMessage",
    "tool": "ToolMessage",
    "chat": "ChatMessage",
    "function": "FunctionMessage",
    "remove": "RemoveMessage",
}
_TYPES = {"user": "human", "assistant": "ai", "system": "system", "developer": "system", "tool": "tool"}


def serialized(kind: str, shape: Shape, **fields: Any) -> dict[str, Any]:
    """Return a message of a kind as `messages_to_dict`, `dumpd` or `model_dump` writes it."""
    if shape == "constructor":
        path = ["langchain", "schema", "messages", _CLASSES[kind]]
        return {"lc": 1, "type": "constructor", "id": path, "kwargs": {**fields, "type": kind}}
    whole = {"additional_kwargs": {}, "response_metadata": {}, "name": None, "id": None, **fields, "type": kind}
    return {"type": kind, "data": whole} if shape == "data" else whole


def as_langchain(chat: list[ChatMessage], shape: Shape) -> list[dict[str, Any]]:
    """Return a history in one of LangChain's shapes."""
    return [_message(message, shape) for message in chat]


def fields_of(message: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a message of any shape."""
    fields: dict[str, Any] = message.get("kwargs") or message.get("data") or message
    return fields


def _message(message: ChatMessage, shape: Shape) -> dict[str, Any]:
    kind = _TYPES[message["role"]]
    fields: dict[str, Any] = {"content": message.get("content") or ""}
    if kind == "ai":
        calls = [_call(call) for call in message.get("tool_calls") or ()]
        fields["tool_calls"] = [call for call in calls if isinstance(call["args"], dict)]
        fields["invalid_tool_calls"] = [call for call in calls if not isinstance(call["args"], dict)]
    if kind == "tool":
        fields |= {"tool_call_id": message["tool_call_id"], "artifact": {"rows": [1, 2]}, "status": "success"}
    return serialized(kind, shape, **fields)


def _call(call: dict[str, Any]) -> dict[str, Any]:
    if call["type"] == "custom":
        return _entry(call["id"], call["custom"]["name"], {"input": call["custom"]["input"]})
    written = call["function"]["arguments"]
    try:
        arguments = json.loads(written)
    except ValueError:
        arguments = written
    return _entry(call["id"], call["function"]["name"], arguments)


def _entry(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    kind = "tool_call" if isinstance(arguments, dict) else "invalid_tool_call"
    return {"name": name, "args": arguments, "id": call_id, "type": kind}
