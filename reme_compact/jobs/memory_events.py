"""What happened to one job, in memory, and whoever watches it."""

import asyncio
import re
from bisect import bisect_right
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from reme_compact.contract.errors import InvalidRequestError
from reme_compact.contract.job import EventType, JobEvent

Position: TypeAlias = tuple[int, int]
"""Milliseconds since 1970, and a number within the millisecond."""

_EVENT_ID = re.compile(r"(\d{1,20})-(\d{1,20})", re.ASCII)


def position_of(event_id: str) -> Position:
    """Read the id of an event, `<milliseconds>-<number>`; it need not be one that was given out.

    Raises:
        InvalidRequestError: it is something else.
    """
    match = _EVENT_ID.fullmatch(event_id)
    if match is None:
        raise InvalidRequestError([{"path": "after", "message": "must be the id of an event of this job"}])
    return int(match[1]), int(match[2])


@dataclass(frozen=True, slots=True)
class _Entry:
    at: Position
    type: EventType
    data: dict[str, Any]

    def as_event(self) -> JobEvent:
        return JobEvent(id=f"{self.at[0]}-{self.at[1]}", type=self.type, data=self.data)


class EventLog:
    """The events of one job, to be read by many watchers at once; every reader gets all of them.

    Ids grow even if the clock goes back.
    """

    __slots__ = ("_changed", "_entries", "_is_complete")

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._is_complete = False
        self._changed: asyncio.Event | None = None

    def append(self, at: datetime, event_type: EventType, data: dict[str, Any]) -> None:
        """Record an event and wake the watchers; `finished` is the last one."""
        milliseconds = int(at.timestamp() * 1000)
        position = (milliseconds, 0)
        if self._entries and position <= self._entries[-1].at:
            last = self._entries[-1].at
            position = (last[0], last[1] + 1)
        self._entries.append(_Entry(position, event_type, data))
        self._is_complete = event_type == "finished"
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def watch(self, after: Position | None) -> AsyncIterator[JobEvent]:
        """Yield the events after a position, those that are still to come included, up to `finished`."""
        index = 0 if after is None else bisect_right(self._entries, after, key=lambda entry: entry.at)
        while True:
            while index < len(self._entries):
                yield self._entries[index].as_event()
                index += 1
            if self._is_complete:
                return
            # Nothing is awaited between the look at the entries and this, so no event is missed.
            if self._changed is None:
                self._changed = asyncio.Event()
            await self._changed.wait()
