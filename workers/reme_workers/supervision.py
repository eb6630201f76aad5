"""`reme worker`: keep one Celery worker running, hand signals on to it, and take it down with this process."""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time

from reme_workers.connection import url_of
from reme_workers.parent_death import end_with_parent, names_parent
from reme_workers.worker_arguments import (
    LOOPBACK,
    WRONG_CONFIGURATION,
    PresetArguments,
    WorkerArguments,
    check_arguments,
)

HAND_OVER_SECONDS = 5.0
"""How long a worker may take to hand over what it works on, before it is killed."""

WORKER_COMMAND = (sys.executable, "-m", "reme_workers.worker_process")
"""What is started."""

_SHORTEST_PAUSE = 0.1
_LONGEST_PAUSE = 10.0
_LONG_RUN_SECONDS = 30.0
_WAITED_FOR = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGALRM)

_log = logging.getLogger(__name__)


def supervise(
    preset_arguments: PresetArguments,
    role: str,
    concurrency: int | None = None,
    pool: str = "threads",
    *,
    metrics_port: int | None = None,
    metrics_host: str = LOOPBACK,
) -> int:
    """Run a worker until SIGTERM or SIGINT, starting it again whenever it ends without having been asked to.

    Celery's worker process ends, for instance, when Redis is restarted. Must be called from the main thread, in a
    process that does nothing else.

    Args:
        preset_arguments: the preset; it is loaded here too, so that a wrong one is refused at once.
        role: `jobs` or `scores`.
        concurrency: how much at once; null: the role's default.
        pool: `threads`, or for scores `prefork`.
        metrics_port: where a jobs worker tells its metrics; null: nowhere.
        metrics_host: the address that this port is opened on.

    Returns:
        The exit code for the process: 0 after a signal, 1 if the worker says that it is wrongly configured.

    Raises:
        ConfigurationError: an argument or the preset is wrong.
    """
    arguments = check_arguments(preset_arguments, role, concurrency, pool, metrics_port, metrics_host)
    url_of(preset_arguments.load().execution.redis)
    # Blocked and waited for, signals cannot arrive between two steps, nor interrupt one.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED_FOR)
    try:
        return _keep_running(arguments)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _keep_running(arguments: WorkerArguments) -> int:
    pause = _SHORTEST_PAUSE
    while True:
        started = time.monotonic()
        child = _start(arguments)
        try:
            if _wait_for_end_or_signal(child):
                _hand_over(child)
                return 0
        finally:
            _kill_group(child)
        if child.returncode == WRONG_CONFIGURATION:
            return 1
        if time.monotonic() - started > _LONG_RUN_SECONDS:
            pause = _SHORTEST_PAUSE
        _log.warning("the %s worker ended with %s; it is started again", arguments.role, child.returncode)
        if _wait(pause) in (signal.SIGTERM, signal.SIGINT):
            return 0
        pause = min(2 * pause, _LONGEST_PAUSE)


def _start(arguments: WorkerArguments) -> subprocess.Popen[bytes]:
    """Start the worker in a process group of its own, so that all its processes can be ended together."""
    return subprocess.Popen(  # noqa: S603 - this interpreter and a module of ours
        WORKER_COMMAND,
        env={**os.environ, **names_parent(), **arguments.environment()},
        # What Celery prints there repeats the log.
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def _wait_for_end_or_signal(child: subprocess.Popen[bytes]) -> bool:
    """Tell whether a signal asks this process to end; false: the child ended."""
    while child.poll() is None:
        if signal.sigwait(_WAITED_FOR) in (signal.SIGTERM, signal.SIGINT):
            return True
    return False


def _hand_over(child: subprocess.Popen[bytes]) -> None:
    """Ask the worker to end and wait for it, at most `HAND_OVER_SECONDS`."""
    child.send_signal(signal.SIGTERM)
    limit = time.monotonic() + HAND_OVER_SECONDS
    while child.poll() is None and (left := limit - time.monotonic()) > 0:
        _wait(left)


def _wait(seconds: float) -> signal.Signals:
    """Wait for a signal, at most so long."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return signal.Signals(signal.sigwait(_WAITED_FOR))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """End whatever is left of the worker's processes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


if __name__ == "__main__":
    end_with_parent()
    told = WorkerArguments.from_environment()
    sys.exit(
        supervise(
            told.preset,
            told.role,
            told.concurrency,
            told.pool,
            metrics_port=told.metrics_port,
            metrics_host=told.metrics_host,
        )
    )
