"""Run an event loop to its end, and end the process with it, whatever others left running there.

`asyncio.run` waits for every task, and the interpreter for every thread; a decision model that ignores its
cancellation would keep a stopped service alive for as long as it likes.
"""

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

logger = logging.getLogger(__name__)

_LETTING_GO_SECONDS = 1.0
_STEP_SECONDS = 0.02


def run_without_waiting(work: Coroutine[Any, Any, None]) -> None:
    """Run some work on an event loop of its own; tasks that it leaves behind are cancelled and soon let go."""
    loop = asyncio.new_event_loop()
    executor = ThreadPoolExecutor(thread_name_prefix="asyncio")
    loop.set_default_executor(executor)
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(work)
    finally:
        try:
            loop.run_until_complete(_let_go())
            loop.run_until_complete(asyncio.wait_for(loop.shutdown_asyncgens(), _LETTING_GO_SECONDS))
        except TimeoutError:
            logger.warning("something left behind did not end")
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
            asyncio.set_event_loop(None)
            loop.close()


async def _let_go() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if not tasks:
        return
    _, stuck = await asyncio.wait(tasks, timeout=_LETTING_GO_SECONDS)
    if stuck:
        logger.warning("tasks that ignore their cancellation are let go", extra={"tasks": len(stuck)})
    # The loop would complain of each of them, with what it holds, once it is collected.
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)


def end_in_spite_of_threads(
    exit_process: Callable[[int], NoReturn] = os._exit, *, seconds: float = _LETTING_GO_SECONDS
) -> None:
    """End the process if a thread that the interpreter would wait for is stuck; return if there is none.

    Nothing that was to be done at the process's end is done then, so this comes last.
    """
    deadline = time.monotonic() + seconds
    while stuck := _threads_waited_for():
        if time.monotonic() >= deadline:
            logger.warning("threads that do not end are let go", extra={"threads": len(stuck)})
            sys.stdout.flush()
            sys.stderr.flush()
            exit_process(0)
        stuck[0].join(_STEP_SECONDS)


def _threads_waited_for() -> list[threading.Thread]:
    own = {threading.current_thread(), threading.main_thread()}
    return [thread for thread in threading.enumerate() if thread not in own and not thread.daemon]
