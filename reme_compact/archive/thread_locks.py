"""Locks that the threads of one process respect: many may add at once, one alone may remove."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock


class SharedLock:
    """Held by many at once, or by one exclusively; whoever waits for it exclusively goes before later sharers.

    Attributes:
        one_at_a_time: for short moments in which even sharers must not be side by side.

    """

    def __init__(self) -> None:
        self.one_at_a_time = Lock()
        self._changed = Condition()
        self._sharers = 0
        self._exclusive = False
        self._waiting = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Wait until nobody holds it exclusively, or waits to."""
        with self._changed:
            self._changed.wait_for(lambda: not self._exclusive and not self._waiting)
            self._sharers += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharers -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Wait until nobody holds it."""
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: not self._exclusive and not self._sharers)
                self._exclusive = True
            finally:
                self._waiting -= 1
        try:
            yield
        finally:
            with self._changed:
                self._exclusive = False
                self._changed.notify_all()
