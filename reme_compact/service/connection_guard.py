"""Limits on connections: how many there are, how long one may be silent, and how long it may read nothing."""

import asyncio
import logging
import sys
from collections.abc import Callable, Iterable
from typing import Protocol

from reme_compact.presets.schema import ServiceSettings
from reme_compact.service.throttled_log import ThrottledLog

logger = logging.getLogger(__name__)

_FILES_FOR_OTHERS = 128
"""Open files that connections leave to everything else: listeners, the decision model's connections, libraries."""

_OLD_ENOUGH_SECONDS = 1.0
_LINGER_SECONDS = 2.0
_WHILE_STOPPING_SECONDS = 1.0
_LINGER_WHILE_STOPPING_SECONDS = 0.2


class Connection(Protocol):
    """What a guard wants to know of a connection, and do with it."""

    def unsent_bytes(self) -> int:
        """Return how much of its answers waits for the client to read."""

    def give_up_waiting(self) -> None:
        """End it: its next request did not come."""

    def cut(self) -> None:
        """End it at once, whatever is still unsent."""


class ConnectionGuard:
    """Watches all connections of one server.

    Attributes:
        limit: how many may be open.
        linger_seconds: how long the rest of a body is read and thrown away after the request was answered, so that
            the client reads the answer before its connection ends.
        stopping: the server ends; cancelled requests are no faults, and slow clients get less time.
    """

    def __init__(self, settings: ServiceSettings, *, limit: int | None = None) -> None:
        self.limit = connections_possible(settings.max_connections) if limit is None else limit
        self.linger_seconds = _LINGER_SECONDS
        self.stopping = False
        self._head_seconds = settings.request_read_seconds
        self._write_seconds = settings.response_write_seconds
        self._waiting: dict[Connection, float] = {}
        self._stalled: dict[Connection, tuple[int, float]] = {}
        self._refused = ThrottledLog(logger, "connection refused: too many are open (service.max_connections)")
        self._silent = ThrottledLog(logger, "connection ended: no whole request came in time", logging.INFO)
        self._unread = ThrottledLog(logger, "connection ended: its client does not read", logging.INFO)

    def admits(self, number_open: int, now: float) -> bool:
        """Tell whether one more connection may stay; the longest silent one makes room for it.

        Args:
            number_open: connections, the new one included.
            now: the event loop's time.
        """
        if number_open <= self.limit:
            return True
        self._refused.happened(limit=self.limit)
        oldest = next(iter(self._waiting), None)
        if oldest is None or now - self._waiting[oldest] < _OLD_ENOUGH_SECONDS:
            return False
        del self._waiting[oldest]
        oldest.give_up_waiting()
        return True

    def waits(self, connection: Connection, now: float) -> None:
        """Note that a connection's next request may come from now on."""
        self._waiting.pop(connection, None)
        self._waiting[connection] = now

    def asked(self, connection: Connection) -> None:
        """Note that the head of a request is there."""
        self._waiting.pop(connection, None)

    def progressed(self, connection: Connection) -> None:
        """Note that a client read most of what waited for it."""
        self._stalled.pop(connection, None)

    def ended(self, connection: Connection) -> None:
        """Forget a connection."""
        self._waiting.pop(connection, None)
        self._stalled.pop(connection, None)

    def begin_stop(self) -> None:
        """Give slow clients less time from now on."""
        self.stopping = True
        self.linger_seconds = _LINGER_WHILE_STOPPING_SECONDS
        self._write_seconds = min(self._write_seconds, _WHILE_STOPPING_SECONDS)

    async def watch(self, connections: Callable[[], Iterable[Connection]]) -> None:
        """End connections whose time is over, until this is cancelled.

        Args:
            connections: returns those that are open.
        """
        now = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(max(0.02, min(self._head_seconds, self._write_seconds, 2.0) / 4))
            self.look(connections(), now())

    def look(self, connections: Iterable[Connection], now: float) -> None:
        """End connections whose time is over now."""
        for connection, since in list(self._waiting.items()):
            if now - since < self._head_seconds:
                break  # the others wait for less long
            del self._waiting[connection]
            self._silent.happened()
            connection.give_up_waiting()
        for connection in connections:
            if self._is_stuck(connection, now):
                self._unread.happened()
                connection.cut()

    def _is_stuck(self, connection: Connection, now: float) -> bool:
        size = connection.unsent_bytes()
        if size == 0:
            self._stalled.pop(connection, None)
            return False
        before, since = self._stalled.get(connection, (size + 1, now))
        if size < before:
            since = now
        self._stalled[connection] = size, since
        return now - since >= self._write_seconds


def connections_possible(wanted: int) -> int:
    """Return how many connections there can be, with what this process may open."""
    if sys.platform == "win32":
        return wanted
    import resource  # noqa: PLC0415 - not everywhere

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if files == resource.RLIM_INFINITY else within_open_files(wanted, files)


def within_open_files(wanted: int, files: int) -> int:
    """Return how many connections leave enough of the files that may be open to everything else."""
    return max(1, min(wanted, files - min(_FILES_FOR_OTHERS, files // 2)))
