"""OpenAI's Chat Completions: calls beside an assistant's content, each result in a message of role `tool`."""

from collections.abc import Iterator, Sequence
from typing import Any

from reme_compact.contract.messages import Block, Message
from reme_compact.history.formats.answered_calls import AnswerGiven, CallMade, Step, check_answers
from reme_compact.history.formats.message_content import is_text, read_content, read_output, with_text
from reme_compact.history.formats.openai_chat_calls import read_calls, read_function_call, text_or_null
from reme_compact.history.formats.protocol import HistoryFormatError, SourceMessage, Violation

RESULT_IS_TEXT = "result_is_text"
"""Rule: the content of a tool message is a text, or parts that are texts."""

_VIEW_ROLES = {
    "developer": "system",
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "assistant",
    "function": "assistant",
}
_PARTS_OF_OTHERS = frozenset(
    {
        # AgentScope's
        "data", "hint", "tool_call", "tool_result",
        # Anthropic's
        "document", "image", "redacted_thinking", "search_result", "server_tool_use", "thinking", "tool_use",
        # those of OpenAI's Responses
        "input_file", "input_image", "input_text", "output_text",
    }
)  # fmt: skip


class OpenAIChatFormat:
    """See `HistoryFormat`. The rules are those by which the API refuses requests (invalid_request_error)."""

    name = "openai_chat"

    def fits(self, messages: Sequence[SourceMessage]) -> bool:
        """Tell whether every message has a role of the API, and no field or part that only others write."""
        return all(_could_be_one(message) for message in messages)

    def read(self, messages: Sequence[SourceMessage]) -> list[Message]:
        """Return the view of a history.

        Raises:
            HistoryFormatError: a message is no message of the API.
        """
        names: dict[str | None, Any] = {}
        return [_read_message(message, f"[{index}]", names) for index, message in enumerate(messages)]

    def with_output(self, message: SourceMessage, block: int, text: str) -> SourceMessage:
        """Return a copy of a tool message with another text; its result is all there is in its view."""
        del block
        return {**message, "content": with_text(message.get("content"), text)}

    def violations(self, messages: Sequence[SourceMessage]) -> Iterator[Violation]:
        """Yield calls that are not answered directly after, results that answer none, and results that are no text."""
        return check_answers(_step(message, f"[{index}]") for index, message in enumerate(messages))


def _could_be_one(message: SourceMessage) -> bool:
    role = message.get("role")
    if not isinstance(role, str) or role not in _VIEW_ROLES or "type" in message:
        return False
    content = message.get("content")
    if not isinstance(content, list):
        return content is None or isinstance(content, str)
    return not any(
        not isinstance(part, dict) or not isinstance(kind := part.get("type"), str) or kind in _PARTS_OF_OTHERS
        for part in content
    )


def _read_message(message: SourceMessage, path: str, names: dict[str | None, Any]) -> Message:
    """Read a message; `names` holds the tool's name by the id of the last call that used it."""
    role = message.get("role")
    if not isinstance(role, str) or role not in _VIEW_ROLES:
        allowed = ", ".join(f"'{name}'" for name in _VIEW_ROLES)
        raise HistoryFormatError(f"{path}.role", f"must be one of {allowed}")
    view: Message = {"role": _VIEW_ROLES[role]}
    if isinstance(message.get("id"), str):
        view["id"] = message["id"]
    if role in {"tool", "function"}:
        view["content"] = [_read_result(message, path, names)]
        return view
    view["content"] = read_content(message.get("content"), f"{path}.content")
    if role == "assistant":
        view["content"].extend(_read_beside_content(message, path))
        names.update((block["id"], block["name"]) for block in view["content"] if block["type"] == "tool_call")
    return view


def _read_beside_content(message: SourceMessage, path: str) -> Iterator[Block]:
    """Yield what an assistant's message says outside its content."""
    if isinstance(message.get("reasoning_content"), str):
        # Not OpenAI's own, but those who serve models by its contract demand it back.
        yield {"type": "thinking", "thinking": message["reasoning_content"]}
    if isinstance(message.get("refusal"), str):
        yield {"type": "text", "text": message["refusal"]}
    if message.get("audio") is not None:
        yield {"type": "data"}
    yield from read_function_call(message, path)
    yield from read_calls(message.get("tool_calls"), f"{path}.tool_calls")


def _read_result(message: SourceMessage, path: str, names: dict[str | None, Any]) -> Block:
    """A result that is there counts as a success: the API has no field in which a tool could say otherwise."""
    is_function = message["role"] == "function"
    call_id = None if is_function else text_or_null(message.get("tool_call_id"), f"{path}.tool_call_id")
    return {
        "type": "tool_result",
        "id": call_id,
        "name": message.get("name") if is_function else names.get(call_id),
        "output": read_output(message.get("content"), f"{path}.content"),
        "state": "success",
    }


def _step(message: SourceMessage, path: str) -> Step:
    if message["role"] == "tool":
        fault = None
        if not is_text(message.get("content")):
            fault = Violation(RESULT_IS_TEXT, f"{path}.content", "must be text, or a list of text parts")
        return AnswerGiven(message.get("tool_call_id"), f"{path}.tool_call_id", fault)
    calls = message.get("tool_calls") if message["role"] == "assistant" else None
    return [CallMade(call.get("id"), f"{path}.tool_calls[{place}].id") for place, call in enumerate(calls or ())]
