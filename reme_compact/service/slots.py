"""A limit on how many requests are worked on at once."""

from collections.abc import Iterator
from contextlib import contextmanager

from reme_compact.contract.errors import TooBusyError


class Slots:
    """Admits a fixed number of requests and refuses the next at once, instead of queueing it.

    Where a slot is taken before a body is read, the number of slots also bounds the memory that bodies can take.

    Args:
        limit: how many.
        setting: what sets the limit, for whoever is refused.
    """

    def __init__(self, limit: int, setting: str = "service.max_active_requests") -> None:
        self._limit = limit
        self._setting = setting
        self._taken = 0

    @contextmanager
    def take(self) -> Iterator[None]:
        """Hold one slot.

        Raises:
            TooBusyError: every slot is taken.

        """
        if self._taken >= self._limit:
            raise TooBusyError(
                f"The service already works on {self._limit} requests, its limit ({self._setting}). Try again shortly."
            )
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1
