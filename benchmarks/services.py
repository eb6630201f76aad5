"""A service of either side, started for a measurement on a free loopback port and ended by its own handle."""

import http.client
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.cases import Side
from benchmarks.execution import PYTHONS, clean_environment

HOST = "127.0.0.1"
_START_SECONDS = 90
_STOP_SECONDS = 20
_LISTENING = re.compile(rb"http://127\.0\.0\.1:(\d+)")


class ServiceError(Exception):
    """A service did not start, or did not answer as it should."""


@dataclass(frozen=True, slots=True)
class Service:
    """A running service; `started` is a reading of `time.perf_counter`."""

    port: int
    started: float
    process: subprocess.Popen[bytes]

    @property
    def resident_bytes(self) -> int:
        """Memory of the process."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024


@contextmanager
def running(side: Side) -> Iterator[Service]:
    """Start the service of a side with its preset for compaction; it is there once its port accepts connections.

    Raises:
        ServiceError: it ended, or took too long.
    """
    with tempfile.TemporaryDirectory(prefix="reme-bench-") as folder, Path(folder, "log").open("w+b") as log:
        # The peer takes no port that the system chooses, so it is given one that was free a moment ago.
        port = 0 if side == "ours" else _free_port()
        command = [_script(side), "start", "config=decision_compaction", f"service.port={port}"]
        if side == "theirs":
            command.append(f"workspace_dir={folder}/workspace")
        started = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 - a command of one of our environments
            command, cwd=folder, env=clean_environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            yield Service(_wait_until_it_listens(process, port, Path(log.name)), started, process)
        finally:
            _end(process)


def post(port: int, path: str, body: bytes) -> tuple[int, bytes]:
    """Post JSON and return status and body."""
    connection = http.client.HTTPConnection(HOST, port, timeout=600)
    try:
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def call_command(side: Side, port: int, words: list[str]) -> float:
    """Call a running service from the command line; return the seconds from start to end of the command.

    Raises:
        ServiceError: the command failed.
    """
    with tempfile.TemporaryDirectory(prefix="reme-bench-") as folder:
        started = time.perf_counter()
        done = subprocess.run(  # noqa: S603 - as above
            [_script(side), "compact_context", f"host={HOST}", f"port={port}", *words],
            cwd=folder,
            env=clean_environment(),
            capture_output=True,
            check=False,
        )
        took = time.perf_counter() - started
    if done.returncode != 0 or b'"schema_version"' not in done.stdout:
        raise ServiceError(f"the command ended with {done.returncode}")
    return took


def _script(side: Side) -> str:
    return str(PYTHONS[side].parent / "reme")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int, log: Path) -> int:
    limit = time.perf_counter() + _START_SECONDS
    while time.perf_counter() < limit:
        if process.poll() is not None:
            raise ServiceError(f"the service ended with {process.returncode}")
        found = port or _announced_port(log)
        if found:
            with suppress(OSError), socket.create_connection((HOST, found), timeout=1):
                return found
        time.sleep(0.01)
    raise ServiceError(f"the service did not listen within {_START_SECONDS} seconds")


def _announced_port(log: Path) -> int:
    """Read from the log which port the system chose; 0 while there is none."""
    found = _LISTENING.search(log.read_bytes())
    return int(found[1]) if found else 0


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
