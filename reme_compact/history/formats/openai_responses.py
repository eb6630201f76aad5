"""OpenAI's Responses API: a list of items, in which calls, their outputs, reasoning and messages stand side by side.

Each item is a message of the view. What the provider runs by itself (searches, code, computers, images, MCP) and the
items of its own shells and patches are carried along unread, and so is what one of its programs calls: such an output
goes to the program, not to the model.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from reme_compact.contract.messages import Block, Message
from reme_compact.history.formats.message_content import with_text
from reme_compact.history.formats.openai_responses_rules import broken_rules
from reme_compact.history.formats.protocol import HistoryFormatError, SourceMessage, Violation

_VIEW_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_PARTS = frozenset(
    {"input_text", "output_text", "refusal", "input_image", "input_file", "input_audio", "computer_screenshot"}
)
_ITEMS = frozenset(
    {
        "additional_tools", "compaction", "compaction_trigger", "configuration_update", "item_reference",
        "mcp_approval_request", "mcp_approval_response", "mcp_list_tools", "program", "reasoning",
    }
)  # fmt: skip
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})


class OpenAIResponsesFormat:
    """See `HistoryFormat`."""

    name = "openai_responses"

    def fits(self, messages: Sequence[SourceMessage]) -> bool:
        """Tell whether every item is of a type of the API, or a message without a part that only others write."""
        return all(_could_be_one(item) for item in messages)

    def read(self, messages: Sequence[SourceMessage]) -> list[Message]:
        """Return the view of a history.

        A call or an output without `status` is completed, since only what the API returns carries one. An output has
        the name of the last call before it with its id.

        Raises:
            HistoryFormatError: an item is neither a message nor says its type, or a message is not what the API allows.
        """
        tools: dict[str, Any] = {}
        return [_read_item(item, f"[{index}]", tools) for index, item in enumerate(messages)]

    def with_output(self, message: SourceMessage, block: int, text: str) -> SourceMessage:
        """Return a copy of an output that reads otherwise; it is all there is in its view."""
        del block
        output = message.get("output")
        return {**message, "output": with_text(output, text) if output else text}

    def violations(self, messages: Sequence[SourceMessage]) -> Iterator[Violation]:
        """Yield where a history breaks the API's rules about calls, outputs and reasoning."""
        return broken_rules(messages)


def _could_be_one(item: SourceMessage) -> bool:
    kind = item.get("type")
    if kind is None and "role" not in item:
        return item.keys() == {"id"} or item.keys() == {"id", "type"}
    if kind is not None and kind != "message":
        return isinstance(kind, str) and (kind in _ITEMS or kind.endswith(("_call", "_output")))
    role = item.get("role")
    if not isinstance(role, str) or role not in _VIEW_ROLES or "tool_calls" in item or "function_call" in item:
        return False
    content = item.get("content")
    if isinstance(content, list):
        return all(isinstance(part, dict) and str(part.get("type")) in _PARTS for part in content)
    return isinstance(content, str)


def _read_item(item: SourceMessage, path: str, tools: dict[str, Any]) -> Message:
    """Read an item; `tools` holds the name of the tool by the id of the last call that used it."""
    kind = item.get("type")
    role = "assistant"
    if kind == "message" or (kind is None and "role" in item):
        role = _view_role(item, path)
        blocks = _read_content(item.get("content"), f"{path}.content")
    elif not isinstance(kind, str) and not (kind is None and isinstance(item.get("id"), str)):
        raise HistoryFormatError(path, "must be a message with a role, or an item with a type")
    elif kind in _CALLS and _is_models_own(item):
        blocks = [_read_call(item, kind, tools)]
    elif kind in _OUTPUTS and _is_models_own(item):
        blocks = [_read_output(item, tools.get(item["call_id"]))]
    else:
        blocks = [{"type": "thinking" if kind == "reasoning" else "data"}]
    view: Message = {"role": role, "content": blocks}
    if isinstance(item.get("id"), str):
        view["id"] = item["id"]
    return view


def _view_role(item: SourceMessage, path: str) -> str:
    role = item.get("role")
    if not isinstance(role, str) or role not in _VIEW_ROLES:
        raise HistoryFormatError(f"{path}.role", "must be 'user', 'assistant', 'system' or 'developer'")
    return _VIEW_ROLES[role]


def _read_content(content: Any, path: str) -> list[Block]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise HistoryFormatError(path, "must be text or a list of content parts")
    return [_read_part(part, f"{path}[{place}]") for place, part in enumerate(content)]


def _read_part(part: Any, path: str) -> Block:
    if not isinstance(part, dict):
        raise HistoryFormatError(path, "must be a content part object")
    kind = part.get("type")
    text = part.get("refusal" if kind == "refusal" else "text")
    if kind in ("input_text", "output_text", "refusal") and isinstance(text, str):
        return {"type": "text", "text": text}
    return {"type": "data"}


def _is_models_own(item: SourceMessage) -> bool:
    """Tell whether the model, and not a program, made the call that this is or that this answers."""
    caller = item.get("caller")
    by_program = isinstance(caller, dict) and caller.get("type") != "direct"
    return not by_program and isinstance(item.get("call_id"), str) and bool(item["call_id"])


def _read_call(item: SourceMessage, kind: str, tools: dict[str, Any]) -> Block:
    tools[item["call_id"]] = item.get("name")
    tool_input = item.get(_CALLS[kind])
    if kind == "custom_tool_call":
        # Its input is any text, which only an object can hold.
        tool_input = {"input": tool_input}
    return {
        "type": "tool_call",
        "id": item["call_id"],
        "name": item.get("name"),
        "input": tool_input,
        "state": _state_of(item, "finished"),
    }


def _read_output(item: SourceMessage, tool: Any) -> Block:
    output = item.get("output")
    if not isinstance(output, str):
        output = [_read_output_part(part) for part in output] if isinstance(output, list) else [{"type": "data"}]
    return {
        "type": "tool_result",
        "id": item["call_id"],
        "name": tool,
        "output": output,
        "state": _state_of(item, "success"),
    }


def _read_output_part(part: Any) -> Block:
    """An output is text only if all its parts are."""
    if isinstance(part, dict) and part.get("type") == "input_text" and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    return {"type": "data"}


def _state_of(item: SourceMessage, completed: str) -> Any:
    status = item.get("status")
    return completed if status is None or status == "completed" else status
