"""Everything a distributed deployment needs, on this machine, for as long as this process lives."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from reme_workers.parent_death import names_parent
from reme_workers.redis_server import RedisServer
from reme_workers.supervision import HAND_OVER_SECONDS
from reme_workers.worker_arguments import ROLES, PresetArguments, WorkerArguments, check_arguments

_URL = "execution.redis.url"


@contextmanager
def local_deployment(preset_arguments: PresetArguments) -> Iterator[str]:
    """Start a server and a worker of each role, yield the server's URL, and take all down at the end.

    They end with this process, on Linux also when it is killed. Enter it in the main thread: a child is told of the
    end of the thread that started it.

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
        workers: list[subprocess.Popen[bytes]] = []
        stack.callback(_end, workers)
        workers.extend(_start(check_arguments(preset, role, None, "threads")) for role in ROLES)
        yield server.url


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
