"""The tool calls of a serialized AI message, wherever LangChain looks for them when it reads one back."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reme_compact.contract.messages import Block
from reme_compact.history.formats.openai_chat_calls import read_calls as read_openai_calls
from reme_compact.history.formats.openai_chat_calls import read_function_call, text_or_null
from reme_compact.history.formats.protocol import HistoryFormatError


@dataclass(frozen=True, slots=True)
class LangChainCall:
    """One call of an AI message.

    Attributes:
        block: the call in a view.
        path: where it stands.
        is_invalid: the model's arguments could not be read, so no tool ran; an agent may say so in a tool message.
        is_answerable: it belongs to those that tool messages answer, which a `function_call` does not.
    """

    block: Block
    path: str
    is_invalid: bool = False
    is_answerable: bool = True


def read_calls(fields: dict[str, Any], path: str) -> Iterator[LangChainCall]:
    """Yield the calls of an AI message.

    Messages from before LangChain had calls of its own hold only the provider's, and those count when there are no
    others.

    Args:
        fields: of the message.
        path: where they stand.

    Raises:
        HistoryFormatError: one of them is no call.
    """
    calls = _entries(fields, "tool_calls", path)
    invalid = _entries(fields, "invalid_tool_calls", path)
    for call, where in calls:
        yield LangChainCall(_block(call, where), where)
    for call, where in invalid:
        yield LangChainCall(_block(call, where), where, is_invalid=True)
    extra = fields.get("additional_kwargs")
    if calls or invalid or not isinstance(extra, dict):
        return
    where = f"{path}.additional_kwargs"
    for block in read_function_call(extra, where):
        yield LangChainCall(block, f"{where}.function_call", is_answerable=False)
    for position, block in enumerate(read_openai_calls(extra.get("tool_calls"), f"{where}.tool_calls")):
        yield LangChainCall(block, f"{where}.tool_calls[{position}]")


def _entries(fields: dict[str, Any], key: str, path: str) -> list[tuple[dict[str, Any], str]]:
    entries = fields.get(key)
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise HistoryFormatError(f"{path}.{key}", "must be a list of tool calls")
    for position, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise HistoryFormatError(f"{path}.{key}[{position}]", "must be a tool call object")
    return [(entry, f"{path}.{key}[{position}]") for position, entry in enumerate(entries)]


def _block(call: dict[str, Any], path: str) -> Block:
    """Arguments that could not be read are carried as the model wrote them, and are no JSON object."""
    return {
        "type": "tool_call",
        "id": text_or_null(call.get("id"), f"{path}.id"),
        "name": text_or_null(call.get("name"), f"{path}.name"),
        "input": call.get("args"),
        "state": "finished",
    }
