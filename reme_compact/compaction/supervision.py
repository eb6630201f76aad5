"""Pure work in a worker thread that stops when nobody waits for it any more."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from anyio import to_thread

from reme_compact.compaction.deferred_collection import deferred_collection

Result = TypeVar("Result")


class WorkStoppedError(Exception):
    """Raised inside a worker thread whose result nobody waits for; it never leaves the thread."""


@dataclass(frozen=True, slots=True)
class Supervision:
    """What long work asks again and again, so that it needs to know neither threads nor clocks.

    Attributes:
        check: raises `WorkStoppedError` when the work is no longer wanted.
        time_is_up: tells whether the deadline has passed.
    """

    check: Callable[[], None] = lambda: None
    time_is_up: Callable[[], bool] = lambda: False


UNSUPERVISED = Supervision()
"""Work that nobody stops."""


async def supervised(work: Callable[[Callable[[], None]], Result]) -> Result:
    """Run work in a worker thread; when the awaiting task is cancelled, let it go and tell it to stop.

    Args:
        work: is given `check`, which it calls again and again.
    """
    unwanted = False

    def check() -> None:
        if unwanted:
            raise WorkStoppedError

    def undisturbed() -> Result:
        with deferred_collection():
            return work(check)

    try:
        return await to_thread.run_sync(undisturbed, abandon_on_cancel=True)
    finally:
        unwanted = True
