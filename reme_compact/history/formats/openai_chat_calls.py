"""The tool calls of a Chat Completions message, of both types, and the one function call that came before them."""

from typing import Any

from reme_compact.contract.messages import Block
from reme_compact.history.formats.protocol import HistoryFormatError, SourceMessage

_TYPES = ("function", "custom")


def read_calls(calls: Any, path: str) -> list[Block]:
    """Return a `tool_call` block for each entry of `tool_calls`; null stands for none.

    Raises:
        HistoryFormatError: it is no list of function or custom calls.
    """
    if calls is None:
        return []
    if not isinstance(calls, list):
        raise HistoryFormatError(path, "must be a list of tool calls")
    return [_read_call(call, f"{path}[{position}]") for position, call in enumerate(calls)]


def read_function_call(message: SourceMessage, path: str) -> list[Block]:
    """Return a block for the deprecated `function_call` of a message; it has no id, so nothing can be its result.

    Raises:
        HistoryFormatError: it is neither null nor a function call.
    """
    called = message.get("function_call")
    if called is None:
        return []
    if not isinstance(called, dict):
        raise HistoryFormatError(f"{path}.function_call", "must be an object")
    return [_call_block(None, called.get("name"), called.get("arguments"))]


def text_or_null(value: Any, path: str) -> str | None:
    """Return an id.

    Raises:
        HistoryFormatError: it is neither text nor absent.
    """
    if value is not None and not isinstance(value, str):
        raise HistoryFormatError(path, "must be text")
    return value


def _read_call(call: Any, path: str) -> Block:
    if not isinstance(call, dict):
        raise HistoryFormatError(path, "must be a tool call object")
    call_id = text_or_null(call.get("id"), f"{path}.id")
    kind = call.get("type", "function")
    if kind not in _TYPES:
        raise HistoryFormatError(f"{path}.type", "must be 'function' or 'custom'")
    called = call.get(kind)
    if not isinstance(called, dict):
        raise HistoryFormatError(f"{path}.{kind}", "must be an object")
    name = text_or_null(called.get("name"), f"{path}.{kind}.name")
    # A custom tool is called with any text at all, so the text is one field of the object that an input has to be.
    tool_input = called.get("arguments") if kind == "function" else {"input": called.get("input")}
    return _call_block(call_id, name, tool_input)


def _call_block(call_id: str | None, name: Any, tool_input: Any) -> Block:
    """A call stands in the history once the model has finished it."""
    return {"type": "tool_call", "id": call_id, "name": name, "input": tool_input, "state": "finished"}
