"""A changed history in its own format, kept in step with its view."""

from reme_compact.contract.messages import Block
from reme_compact.history.draft import Draft
from reme_compact.history.formats.opening import OpenedHistory
from reme_compact.history.pairs import Location


class ForeignDraft(Draft):
    """A `Draft` of a history that is not written in AgentScope's structure.

    Attributes:
        messages: in the source's format; what is not touched are the source's own objects.
        view: the same in AgentScope's structure.
    """

    def __init__(self, history: OpenedHistory) -> None:
        super().__init__(history.source)
        self._format = history.format
        self._own_view = Draft(history.view)
        self._read = history.view
        self.view = self._own_view.messages

    def replace_output(self, at: Location, text: str) -> Block:
        """Set the text of the result at a location of the view, and return the view's new block."""
        message_index, block_index = at
        self.messages[message_index] = self._format.with_output(self.messages[message_index], block_index, text)
        return self._own_view.replace_output(at, text)

    def restore(self, at: Location) -> None:
        """Put the source's result back, and leave the others of its message as they are."""
        self._own_view.restore(at)
        message_index = at[0]
        message = self.source[message_index]
        blocks = zip(self.view[message_index]["content"], self._read[message_index]["content"], strict=True)
        for block_index, (now, before) in enumerate(blocks):
            if now is not before:
                message = self._format.with_output(message, block_index, now["output"])
        self.messages[message_index] = message


def draft_of(history: OpenedHistory) -> Draft:
    """Return a draft of a history."""
    return Draft(history.source) if history.is_own_view else ForeignDraft(history)
