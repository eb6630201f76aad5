"""Count a changing draft: the whole history each time, or only what a replacement touched."""

from typing import Any, Protocol

from reme_compact.contract.messages import Message
from reme_compact.history.draft import Draft
from reme_compact.history.pairs import Location
from reme_compact.tokens.counters import (
    AdditiveTokenCounter,
    OpaqueTokenCounter,
    TokenCounter,
    call_counter,
    private_copy,
)


class DraftCount(Protocol):
    """The token count of a draft, kept up to date one replacement at a time.

    Attributes:
        total: tokens of the draft as last settled.
    """

    total: int

    def after(self, at: Location) -> int:
        """Return the tokens of the draft, in which the result at a location was just replaced."""

    def settle(self, total: int) -> None:
        """Accept the count that `after` returned last; without it the replacement is taken to be undone."""


def count_draft(counter: TokenCounter, draft: Draft) -> DraftCount:
    """Count a draft with whichever kind of counter there is.

    Raises:
        TokenCounterError: the counter raised or returned no count; later calls may raise the same.
    """
    if isinstance(counter, AdditiveTokenCounter):
        return _AdditiveCount(counter, draft)
    return _OpaqueCount(counter, draft)


class _OpaqueCount:
    """Counts the whole history after each replacement, always on a private copy.

    One copy serves again as long as the counter left it as it was, which comparing tells much faster than copying
    anew: texts are shared, so a comparison hardly ever looks inside one.
    """

    def __init__(self, counter: OpaqueTokenCounter, draft: Draft) -> None:
        self._counter = counter
        self._draft = draft
        self._copy: Any = None
        self._last: Location | None = None
        self.total = self._count()

    def after(self, at: Location) -> int:
        self._refresh(self._last)
        self._refresh(at)
        self._last = at
        return self._count()

    def settle(self, total: int) -> None:
        self.total = total

    def _refresh(self, at: Location | None) -> None:
        """Bring the block at a location up to date; if the counter left nothing to do that in, forget the copy."""
        if at is None or self._copy is None:
            return
        message_index, block_index = at
        block = self._draft.messages[message_index]["content"][block_index]
        try:
            self._copy[message_index]["content"][block_index] = private_copy(block)
        except (LookupError, TypeError, AttributeError):
            self._copy = None

    def _count(self) -> int:
        if self._copy is None or self._copy != self._draft.messages:
            self._copy = private_copy(self._draft.messages)
        return call_counter(self._counter, self._copy)


class _AdditiveCount:
    """Counts one message, or one block where the counter can, per replacement."""

    def __init__(self, counter: AdditiveTokenCounter, draft: Draft) -> None:
        self._counter = counter
        self._draft = draft
        self._parts: dict[Location, int] = {}
        self._last: tuple[Location, int] | None = None
        self.total = counter.constant + sum(
            self._count_message(index, message) for index, message in enumerate(draft.messages)
        )

    def after(self, at: Location) -> int:
        part = self._part(at)
        count = self._count_part(part)
        self._last = (part, count)
        return self.total - self._parts[part] + count

    def settle(self, total: int) -> None:
        if self._last is not None:
            part, count = self._last
            self._parts[part] = count
        self.total = total

    def _part(self, at: Location) -> Location:
        return at if self._counter.count_block is not None else (at[0], -1)

    def _count_part(self, part: Location) -> int:
        message = self._draft.messages[part[0]]
        if self._counter.count_block is not None:
            return call_counter(self._counter.count_block, private_copy(message["content"][part[1]]))
        return call_counter(self._counter.count_message, private_copy(message))

    def _count_message(self, index: int, message: Message) -> int:
        if self._counter.count_block is None:
            count = self._parts[index, -1] = self._count_part((index, -1))
            return count
        total = call_counter(self._counter.count_message, private_copy({**message, "content": []}))
        for block_index in range(len(message["content"])):
            at = (index, block_index)
            count = self._parts[at] = self._count_part(at)
            total += count
        return total
