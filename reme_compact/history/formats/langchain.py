"""LangChain's serialized messages: calls beside an AI message's content, each result in a tool message."""

from collections.abc import Iterator, Sequence
from typing import Any

from reme_compact.contract.messages import Block, Message
from reme_compact.history.formats.answered_calls import AnswerGiven, CallMade, Step, check_answers
from reme_compact.history.formats.langchain_calls import read_calls
from reme_compact.history.formats.langchain_shape import fields_key, fields_of, kind_of
from reme_compact.history.formats.message_content import read_content, read_output, with_text
from reme_compact.history.formats.openai_chat_calls import text_or_null
from reme_compact.history.formats.protocol import HistoryFormatError, SourceMessage, Violation

_VIEW_ROLES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "assistant",
    "function": "assistant",
    "remove": "user",
}
_VIEW_ROLES_OF_CHAT = {"assistant": "assistant", "ai": "assistant", "system": "system", "developer": "system"}

_CALLS_IN_CONTENT = (
    "tool_use",
    "tool_call",
    "tool_call_chunk",
    "invalid_tool_call",
    "function_call",
    "input_json_delta",
)
"""Parts in which providers write a call, which LangChain has put into `tool_calls` as well."""


class LangChainFormat:
    """See `HistoryFormat`. The rules are those that chat models of several providers share."""

    name = "langchain"

    def fits(self, messages: Sequence[SourceMessage]) -> bool:
        """Tell whether every message is of one of LangChain's types, with its fields where they belong."""
        return all(kind_of(message) is not None and fields_of(message) is not None for message in messages)

    def read(self, messages: Sequence[SourceMessage]) -> list[Message]:
        """Return the view of a history.

        Raises:
            HistoryFormatError: a message is no serialized message.
        """
        names: dict[str | None, Any] = {}
        return [_read_message(message, f"[{index}]", names) for index, message in enumerate(messages)]

    def with_output(self, message: SourceMessage, block: int, text: str) -> SourceMessage:
        """Return a copy of a tool message with another text; its artifact, which no model sees, stays what it is."""
        del block
        key = fields_key(message)
        if key is None:
            return {**message, "content": with_text(message["content"], text)}
        fields = message[key]
        return {**message, key: {**fields, "content": with_text(fields.get("content"), text)}}

    def violations(self, messages: Sequence[SourceMessage]) -> Iterator[Violation]:
        """Yield calls that are not answered directly after, and results that answer none."""
        return check_answers(_step(message, f"[{index}]") for index, message in enumerate(messages))


def _read_message(message: SourceMessage, path: str, names: dict[str | None, Any]) -> Message:
    """Read a message; `names` holds the tool's name by the id of the last call that used it."""
    kind, fields, path = _opened(message, path)
    view: Message = {"role": _view_role(kind, fields)}
    if isinstance(fields.get("id"), str):
        view["id"] = fields["id"]
    if kind in {"tool", "function"}:
        view["content"] = [_read_result(kind, fields, path, names)]
        return view
    repeated = _CALLS_IN_CONTENT if kind == "ai" else ()
    view["content"] = read_content(fields.get("content"), f"{path}.content", repeated=repeated)
    if kind == "ai":
        calls = [call.block for call in read_calls(fields, path)]
        view["content"].extend(calls)
        names.update((call["id"], call["name"]) for call in calls)
    return view


def _opened(message: SourceMessage, path: str) -> tuple[str, dict[str, Any], str]:
    """Return what a message is, its fields, and where they stand."""
    kind, fields, key = kind_of(message), fields_of(message), fields_key(message)
    if kind is None:
        where = "id" if "lc" in message else "type"
        raise HistoryFormatError(f"{path}.{where}", "must be that of a LangChain message")
    if fields is None:
        raise HistoryFormatError(f"{path}.{key}", "must be an object with the message's fields")
    return kind, fields, path if key is None else f"{path}.{key}"


def _view_role(kind: str, fields: dict[str, Any]) -> str:
    if kind != "chat":
        return _VIEW_ROLES[kind]
    role = fields.get("role")
    return _VIEW_ROLES_OF_CHAT.get(role, "user") if isinstance(role, str) else "user"


def _read_result(kind: str, fields: dict[str, Any], path: str, names: dict[str | None, Any]) -> Block:
    is_function = kind == "function"
    call_id = None if is_function else text_or_null(fields.get("tool_call_id"), f"{path}.tool_call_id")
    return {
        "type": "tool_result",
        "id": call_id,
        "name": fields.get("name") if is_function else names.get(call_id),
        "output": read_output(fields.get("content"), f"{path}.content"),
        "state": fields.get("status", "success"),
    }


def _step(message: SourceMessage, path: str) -> Step:
    kind, fields, path = _opened(message, path)
    if kind == "tool":
        return AnswerGiven(fields.get("tool_call_id"), f"{path}.tool_call_id")
    if kind != "ai":
        return []
    return [
        CallMade(call.block["id"], f"{call.path}.id", may_stay_unanswered=call.is_invalid)
        for call in read_calls(fields, path)
        if call.is_answerable
    ]
