"""What a format of histories has to offer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from reme_compact.contract.messages import Message

SourceMessage = dict[str, Any]
"""A message, or an item, as its format writes it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A structural rule of a provider that a history breaks.

    Attributes:
        rule: a short name, such as `result_after_call`.
        path: where, relative to the list of messages: `[3].content[0]`.
        message: what is demanded, in words without content of the history.
    """

    rule: str
    path: str
    message: str


class HistoryFormatError(ValueError):
    """A message that its format does not allow.

    Attributes:
        path: where, relative to the list of messages: `[3].tool_calls[0].id`.
        message: what is wrong, in words without content of the history.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


class HistoryFormat(Protocol):
    """One way of writing histories. Nothing here changes what it is given.

    A view is the same history in AgentScope's structure: one message for each message of the source, at the same
    index. Long texts are shared with the source, never copied.
    """

    name: str

    def fits(self, messages: Sequence[SourceMessage]) -> bool:
        """Tell, from a quick look at the structure, whether a history could be written in this format."""

    def read(self, messages: Sequence[SourceMessage]) -> list[Message]:
        """Return the view of a history.

        Raises:
            HistoryFormatError: a message is not what the format allows.
        """

    def with_output(self, message: SourceMessage, block: int, text: str) -> SourceMessage:
        """Return a copy of a message in which one tool result reads otherwise; everything else is shared.

        Args:
            message: a message of the source.
            block: where in the content of its view the tool result stands.
            text: what it reads.
        """

    def violations(self, messages: Sequence[SourceMessage]) -> Iterator[Violation]:
        """Yield the structural rules of the provider that a history breaks, in the order of the history."""
