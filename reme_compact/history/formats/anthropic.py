"""Anthropic's Messages API: `tool_use` blocks of the assistant, answered by `tool_result` blocks of the next user turn.

The system prompt is no part of `messages`. What the provider runs by itself (`server_tool_use`, `mcp_tool_use` and
their results) is carried along unread. So is what the provider's code execution calls: such a result goes to the code,
not to the model.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from reme_compact.contract.messages import ROLES, Block, Message
from reme_compact.history.formats.anthropic_rules import broken_rules
from reme_compact.history.formats.message_content import read_output, with_text
from reme_compact.history.formats.protocol import HistoryFormatError, SourceMessage, Violation

_KEYS_OF_OTHERS = frozenset({"tool_calls", "tool_call_id", "function_call", "call_id", "lc", "kwargs", "data"})
_BLOCKS_OF_OTHERS = frozenset(
    {
        # AgentScope's
        "data", "hint", "tool_call",
        # those of OpenAI's two APIs
        "audio", "file", "image_url", "input_audio", "input_file", "input_image", "input_text", "output_text",
        "reasoning", "refusal",
    }
)  # fmt: skip
_CALLED_BY_CODE = object()
"""Stands for the tool's name where the call is not the model's own."""


class AnthropicFormat:
    """See `HistoryFormat`."""

    name = "anthropic"

    def fits(self, messages: Sequence[SourceMessage]) -> bool:
        """Tell whether every message has a role and content of the API, and no key or block that only others write."""
        return all(_could_be_one(message) for message in messages)

    def read(self, messages: Sequence[SourceMessage]) -> list[Message]:
        """Return the view of a history.

        A call is finished, since the API hands out whole blocks only. A result is a success unless `is_error` says
        otherwise, and has the name of the last call before it with its id.

        Raises:
            HistoryFormatError: a role, a content or a block is not what the API allows.
        """
        tools: dict[str, Any] = {}
        return [_read_message(message, f"[{index}]", tools) for index, message in enumerate(messages)]

    def with_output(self, message: SourceMessage, block: int, text: str) -> SourceMessage:
        """Return a copy of a message in which a tool result reads otherwise; one in blocks stays in a block."""
        content: list[dict[str, Any]] = list(message["content"])
        result = content[block]
        content[block] = {**result, "content": with_text(result.get("content"), text)}
        return {**message, "content": content}

    def violations(self, messages: Sequence[SourceMessage]) -> Iterator[Violation]:
        """Yield where a history breaks the API's rules about calls, results and thinking."""
        return broken_rules(messages)


def _could_be_one(message: SourceMessage) -> bool:
    if message.get("role") not in ROLES or not _KEYS_OF_OTHERS.isdisjoint(message):
        return False
    # A whole answer of the API, stored as it came, says that it is a message.
    if message.get("type", "message") != "message":
        return False
    content = message.get("content")
    if isinstance(content, list):
        return all(isinstance(block, dict) and _could_be_block(block) for block in content)
    return isinstance(content, str)


def _could_be_block(block: Block) -> bool:
    kind = block.get("type")
    if kind == "tool_result":
        return "tool_use_id" in block
    return isinstance(kind, str) and kind not in _BLOCKS_OF_OTHERS


def _read_message(message: SourceMessage, path: str, tools: dict[str, Any]) -> Message:
    role, content = message.get("role"), message.get("content")
    if role not in ROLES:
        raise HistoryFormatError(f"{path}.role", "must be 'user', 'assistant' or 'system'")
    if isinstance(content, str):
        blocks: list[Block] = [{"type": "text", "text": content}]
    elif isinstance(content, list):
        blocks = [_read_block(block, f"{path}.content[{place}]", tools) for place, block in enumerate(content)]
    else:
        raise HistoryFormatError(f"{path}.content", "must be text or a list of content blocks")
    view: Message = {"role": role, "content": blocks}
    if isinstance(message.get("id"), str):
        view["id"] = message["id"]
    return view


def _read_block(block: Any, path: str, tools: dict[str, Any]) -> Block:
    """Return the view of a block; `tools` holds the name of the tool by the id of the last call that used it."""
    if not isinstance(block, dict) or not isinstance(kind := block.get("type"), str):
        raise HistoryFormatError(path, "must be a content block object with a type")
    if kind == "tool_use" and _is_id(block.get("id")):
        return _read_call(block, tools)
    if kind == "tool_result" and _is_id(block.get("tool_use_id")):
        return _read_result(block, path, tools.get(block["tool_use_id"]))
    if kind == "thinking" or (kind == "text" and isinstance(block.get("text"), str)):
        return block
    return {"type": "data"}


def _read_call(block: Block, tools: dict[str, Any]) -> Block:
    caller = block.get("caller")
    if isinstance(caller, dict) and caller.get("type") != "direct":
        tools[block["id"]] = _CALLED_BY_CODE
        return {"type": "data"}
    tools[block["id"]] = block.get("name")
    return {
        "type": "tool_call",
        "id": block["id"],
        "name": block.get("name"),
        "input": block.get("input"),
        "state": "finished",
    }


def _read_result(block: Block, path: str, tool: Any) -> Block:
    if tool is _CALLED_BY_CODE:
        return {"type": "data"}
    content = block.get("content")
    return {
        "type": "tool_result",
        "id": block["tool_use_id"],
        "name": tool,
        # The API lets the content out where a tool had nothing to say.
        "output": "" if content is None else read_output(content, f"{path}.content"),
        "state": "error" if block.get("is_error") else "success",
    }


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
