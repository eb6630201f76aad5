"""The one event loop of a worker process, on which the threads of its tasks have their work done."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, ExitStack
from typing import Generic, Protocol, TypeVar

from anyio.from_thread import BlockingPortal, BlockingPortalProvider


class Stoppable(Protocol):
    """What runs on the loop."""

    def stop(self) -> None:
        """Hand over what is under way."""


Process = TypeVar("Process", bound=Stoppable)


class ProcessLoop(Generic[Process]):
    """Runs one thing on an event loop in a thread of its own.

    Args:
        running: builds it on that loop, and closes it.
    """

    def __init__(self, running: Callable[[], AbstractAsyncContextManager[Process]]) -> None:
        self._running = running
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None
        self._process: Process | None = None

    @property
    def process(self) -> Process:
        """What runs on the loop, once it was started."""
        if self._process is None:
            raise RuntimeError("the event loop was not started")
        return self._process

    def start(self) -> None:
        """Start the loop, and on it what was given.

        Raises:
            ConfigurationError: it cannot be built.
        """
        with ExitStack() as stack:
            self._portal = stack.enter_context(BlockingPortalProvider())
            self._process = stack.enter_context(self._portal.wrap_async_context_manager(self._running()))
            self._stack = stack.pop_all()

    def do(self, work: Callable[[], Awaitable[bool]]) -> bool:
        """Have something done on the loop and wait for it."""
        if self._portal is None:
            raise RuntimeError("the event loop was not started")
        return self._portal.call(work)

    def hand_over(self) -> None:
        """Have everything under way handed over; may be called from a signal handler, and again."""
        if self._portal is not None and self._process is not None:
            self._portal.start_task_soon(self._process.stop)

    def close(self) -> None:
        """End what runs on the loop, and the loop."""
        self._stack.close()
        self._portal = self._process = None
