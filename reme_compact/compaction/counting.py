"""Count a changing draft: the whole history each time, or only what a replacement touched."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from reme_compact.history.draft import Draft
from reme_compact.history.pairs import Location
from reme_compact.history.private_copy import private_copy
from reme_compact.tokens.counters import (
    AdditiveTokenCounter,
    OpaqueTokenCounter,
    TokenCounter,
    call_counter,
    call_counters,
)

_WHOLE_MESSAGE = -1
_BLOCKS_AT_ONCE = 512


class DraftCount(Protocol):
    """The token count of a draft, kept up to date one replacement at a time.

    Attributes:
        total: tokens of the draft as last settled.
    """

    total: int

    def after(self, at: Location) -> int:
        """Return the tokens of the draft, in which the result at a location was just replaced."""

    def recount(self, changed: Iterable[Location], check: Callable[[], None]) -> int:
        """Return the tokens of the draft, in which the results at some locations were replaced since.

        `check` is called before each part and may raise.
        """

    def settle(self, total: int) -> None:
        """Accept the count that `after` returned last; without it the replacement is taken to be undone."""

    def tokens_from(self, message_index: int) -> int | None:
        """Return the tokens of one message and all that follow; null: this counter knows whole histories only."""


def count_draft(counter: TokenCounter, draft: Draft, check: Callable[[], None] = lambda: None) -> DraftCount:
    """Count a draft with whichever kind of counter there is; `check` is called before each part and may raise.

    Raises:
        TokenCounterError: the counter raised or returned no count; later calls may raise the same.
    """
    if isinstance(counter, AdditiveTokenCounter):
        return _AdditiveCount(counter, draft, check)
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

    def recount(self, changed: Iterable[Location], check: Callable[[], None]) -> int:
        del changed, check
        return self._count()

    def settle(self, total: int) -> None:
        self.total = total

    def tokens_from(self, message_index: int) -> int | None:
        del message_index
        return None

    def _refresh(self, at: Location | None) -> None:
        """Bring the block at a location up to date; if the counter left nothing to do that in, forget the copy."""
        if at is None or self._copy is None:
            return
        message_index, block_index = at
        message = self._draft.messages[message_index]
        try:
            if self._draft.view is self._draft.messages:
                self._copy[message_index]["content"][block_index] = private_copy(message["content"][block_index])
            else:
                self._copy[message_index] = private_copy(message)
        except (LookupError, TypeError, AttributeError):
            self._copy = None

    def _count(self) -> int:
        if self._copy is None or self._copy != self._draft.messages:
            self._copy = private_copy(self._draft.messages)
        return call_counter(self._counter, self._copy)


class _AdditiveCount:
    """Counts one message, or one block where the counter can, per replacement."""

    def __init__(self, counter: AdditiveTokenCounter, draft: Draft, check: Callable[[], None]) -> None:
        self._counter = counter
        self._messages = draft.view if counter.counts_view else draft.messages
        self._count_block = counter.count_block if self._messages is draft.view else None
        self._parts: dict[Location, int] = {}
        self._last: tuple[Location, int] | None = None
        by_message = self._count_block is None
        self.total = counter.constant + (self._count_by_message(check) if by_message else self._count_by_block(check))

    def after(self, at: Location) -> int:
        part = self._part(at)
        count = self._count_part(part)
        self._last = (part, count)
        return self.total - self._parts[part] + count

    def recount(self, changed: Iterable[Location], check: Callable[[], None]) -> int:
        parts = sorted({self._part(at) for at in changed})
        total = self.total - sum(self._parts[part] for part in parts)
        if self._count_block is None:
            for part in parts:
                check()
                self._parts[part] = self._count_part(part)
        else:
            self._parts.update(self._count_blocks(parts, check))
        return total + sum(self._parts[part] for part in parts)

    def settle(self, total: int) -> None:
        if self._last is not None:
            part, count = self._last
            self._parts[part] = count
        self.total = total

    def tokens_from(self, message_index: int) -> int | None:
        return sum(count for (index, _), count in self._parts.items() if index >= message_index)

    def _part(self, at: Location) -> Location:
        return at if self._count_block is not None else (at[0], _WHOLE_MESSAGE)

    def _count_part(self, part: Location) -> int:
        message = self._messages[part[0]]
        if self._count_block is not None and part[1] != _WHOLE_MESSAGE:
            return call_counter(self._count_block, self._given(message["content"][part[1]]))
        return call_counter(self._counter.count_message, self._given(message))

    def _count_by_message(self, check: Callable[[], None]) -> int:
        for index in range(len(self._messages)):
            check()
            self._parts[index, _WHOLE_MESSAGE] = self._count_part((index, _WHOLE_MESSAGE))
        return sum(self._parts.values())

    def _count_by_block(self, check: Callable[[], None]) -> int:
        locations: list[Location] = []
        for index, message in enumerate(self._messages):
            check()
            frame = call_counter(self._counter.count_message, self._given({**message, "content": []}))
            self._parts[index, _WHOLE_MESSAGE] = frame
            locations += [(index, position) for position in range(len(message["content"]))]
        self._parts.update(self._count_blocks(locations, check))
        return sum(self._parts.values())

    def _count_blocks(self, locations: Sequence[Location], check: Callable[[], None]) -> Iterator[tuple[Location, int]]:
        """Count blocks, many at once where the counter can."""
        many = self._counter.count_blocks
        if many is None:
            for at in locations:
                check()
                yield at, self._count_part(at)
            return
        for start in range(0, len(locations), _BLOCKS_AT_ONCE):
            check()
            group = locations[start : start + _BLOCKS_AT_ONCE]
            blocks = [self._messages[message]["content"][block] for message, block in group]
            yield from zip(group, call_counters(many, self._given(blocks)), strict=True)

    def _given(self, value: Any) -> Any:
        return value if self._counter.reads_only else private_copy(value)
