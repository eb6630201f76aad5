"""A changed history that shares everything unchanged with its source."""

from typing import Any

from reme_compact.contract.messages import Block, Message
from reme_compact.history.pairs import Location


class Draft:
    """A working copy of a history in which the output of single results can be replaced and put back.

    Messages and blocks that are not touched are the source's own objects; a touched message is copied once, its
    other blocks shared.

    Attributes:
        messages: the history as it is now.
        source: the history as it came.
        view: the same as `messages` in AgentScope's structure, which this is.
    """

    def __init__(self, messages: list[Message]) -> None:
        self.source = messages
        self.messages = list(messages)
        self.view = self.messages

    def replace_output(self, at: Location, text: str) -> Block:
        """Set the output of the result at a location, and return the new block."""
        message_index, block_index = at
        content = self._own_content(message_index)
        block = {**content[block_index], "output": text}
        content[block_index] = block
        return block

    def restore(self, at: Location) -> None:
        """Put the source's block back."""
        message_index, block_index = at
        self._own_content(message_index)[block_index] = self.source[message_index]["content"][block_index]

    def _own_content(self, message_index: int) -> list[Block]:
        message = self.messages[message_index]
        if message is self.source[message_index]:
            message = {**message, "content": list(message["content"])}
            self.messages[message_index] = message
        content: list[Block] = message["content"]
        return content


def snapshot(messages: Any) -> Any:
    """Return a history whose lists are its own, so that a host may go on appending to its own meanwhile.

    What is not a history is returned as it is, for validation to refuse.
    """
    if not isinstance(messages, list):
        return messages
    return [
        {**message, "content": list(message["content"])}
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        else message
        for message in messages
    ]
