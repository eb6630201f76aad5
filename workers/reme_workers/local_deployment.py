"""Everything a distributed deployment needs, on this machine, for as long as this process lives."""

import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

from reme_workers.parent_death import names_parent
from reme_workers.redis_server import RedisServer
from reme_workers.supervision import HAND_OVER_SECONDS
from reme_workers.worker_arguments import (
    ROLES,
    WRONG_CONFIGURATION,
    PresetArguments,
    WorkerArguments,
    check_arguments,
)

_URL = "execution.redis.url"
_LOOK_EVERY_SECONDS = 0.5

_log = logging.getLogger(__name__)


@contextmanager
def local_deployment(preset_arguments: PresetArguments) -> Iterator[str]:
    """Start a server and a worker of each role, yield the server's URL, and take all down at the end.

    They end with this process, on Linux also when it is killed. A worker's supervisor that ends is started again. The
    server cannot be: what it held is lost, so this process is told to end as if by SIGTERM, and the log says why.

    Args:
        preset_arguments: the preset that the workers load; `execution.redis.url` is set for them.

    Raises:
        MissingExtraError: there is no server program.
        StoreUnavailableError: the server cannot be started.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="reme-", ignore_cleanup_errors=True))
        server = stack.enter_context(RedisServer(Path(folder)))
        preset = replace(preset_arguments, overrides={**preset_arguments.overrides, _URL: server.url})
        keeper = _Keeper([check_arguments(preset, role, None, "threads") for role in ROLES], server)
        stack.callback(keeper.end)
        keeper.start()
        yield server.url


class _Keeper:
    """Starts workers and sees that they go on.

    In a thread of its own, which stays until they have ended: a child is told of the end of the thread that started it.
    """

    def __init__(self, workers: Sequence[WorkerArguments], server: RedisServer) -> None:
        self._arguments = workers
        self._server = server
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._started = Event()
        self._closing = Event()
        self._ended = Event()
        self._thread = Thread(target=self._keep, name="reme-local-deployment", daemon=True)

    def start(self) -> None:
        """Start the workers."""
        self._thread.start()
        self._started.wait()

    def end(self) -> None:
        """End the workers."""
        self._closing.set()
        _end(list(self._running.values()))
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _keep(self) -> None:
        try:
            for index, arguments in enumerate(self._arguments):
                self._running[index] = _start(arguments)
        finally:
            self._started.set()
        while not self._closing.wait(_LOOK_EVERY_SECONDS):
            if not self._server.is_running:
                _log.error("the Redis server of workers=local has ended, and with it all jobs; the service ends")
                os.kill(os.getpid(), signal.SIGTERM)
                break
            self._start_again()
        self._ended.wait()

    def _start_again(self) -> None:
        for index, arguments in enumerate(self._arguments):
            status = self._running[index].poll()
            if status == WRONG_CONFIGURATION:
                _log.error("the %s worker cannot run as it is configured; the service ends", arguments.role)
                os.kill(os.getpid(), signal.SIGTERM)
                self._closing.wait()
            elif status is not None and not self._closing.is_set():
                _log.warning("the %s worker's supervisor has ended; it is started again", arguments.role)
                self._running[index] = _start(arguments)


def _start(arguments: WorkerArguments) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "reme_workers.supervision"],
        env={**os.environ, **names_parent(), **arguments.environment()},
        # Else a Ctrl+C in a terminal would reach the workers too, before the service has finished its requests.
        start_new_session=True,
    )


def _end(workers: Sequence[subprocess.Popen[bytes]]) -> None:
    for worker in workers:
        worker.terminate()
    for worker in workers:
        try:
            worker.wait(HAND_OVER_SECONDS + 1)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
