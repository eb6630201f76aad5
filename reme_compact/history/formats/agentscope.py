"""AgentScope 2.x: the structure that everything else is read into, so its view is the history itself."""

from collections.abc import Iterator, Sequence
from typing import Any

from reme_compact.contract.messages import ROLES, Message, check_messages
from reme_compact.history.formats.protocol import HistoryFormatError, SourceMessage, Violation


class AgentScopeFormat:
    """See `HistoryFormat`."""

    name = "agentscope"

    def fits(self, messages: Sequence[SourceMessage]) -> bool:
        """Tell whether every message has a role and blocks, and the first tool block is one of AgentScope's."""
        if not all(_has_blocks(message) for message in messages):
            return False
        for message in messages:
            for block in message["content"]:
                kind = block.get("type")
                if kind in ("tool_call", "tool_use") or (kind == "tool_result" and "tool_use_id" in block):
                    return bool(kind == "tool_call")
        return True

    def read(self, messages: Sequence[SourceMessage]) -> list[Message]:
        """Return the history itself.

        Raises:
            HistoryFormatError: a message is no AgentScope message.
        """
        history: list[Message] = messages if isinstance(messages, list) else list(messages)
        try:
            return check_messages(history)
        except ValueError as error:
            path, _, message = str(error).partition(": ")
            raise HistoryFormatError(path, message) from None

    def with_output(self, message: SourceMessage, block: int, text: str) -> SourceMessage:
        """Return a copy of a message in which a tool result's output is a text."""
        content: list[dict[str, Any]] = list(message["content"])
        content[block] = {**content[block], "output": text}
        return {**message, "content": content}

    def violations(self, messages: Sequence[SourceMessage]) -> Iterator[Violation]:
        """Yield nothing: the pairs of a history are found by their ids, wherever they stand."""
        del messages
        return iter(())


def _has_blocks(message: SourceMessage) -> bool:
    content = message.get("content")
    return (
        message.get("role") in ROLES and isinstance(content, list) and all(isinstance(item, dict) for item in content)
    )
