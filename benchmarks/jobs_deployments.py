"""Bring up a service, and with it a server and workers, for a measurement on loopback; take down exactly those."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from reme_workers.parent_death import names_parent
from reme_workers.redis_server import RedisServer
from reme_workers.worker_arguments import PresetArguments, Role, WorkerArguments

from benchmarks.execution import clean_environment
from benchmarks.jobs_client import JobClient
from benchmarks.jobs_process import PAUSE, PRESET

_START_SECONDS = 60
_STOP_SECONDS = 10
_LISTENING = re.compile(rb"http://127\.0\.0\.1:(\d+)")
_SERVICE = {"service.port": "0"}


@dataclass
class Running:
    """A deployment under measurement.

    Attributes:
        folder: logs and data.
        pause_seconds: how long the decision model takes.
        arguments: the preset of all its processes.
        server: of a distributed deployment.
        processes: by name.
        port: of the service.
    """

    folder: Path
    pause_seconds: float
    arguments: PresetArguments
    server: RedisServer | None = None
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    port: int = 0

    def start(self, name: str, role: str, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a process in a group of its own; the end of this process is its end."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 - a module of ours
                [sys.executable, "-m", "benchmarks.jobs_process", role],
                cwd=self.folder,
                env={**clean_environment(), PAUSE: str(self.pause_seconds), **names_parent(), **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes[name] = process
        return process

    def start_service(self) -> None:
        """Start the service and wait until it listens."""
        told = {"config": self.arguments.config, "overrides": {**self.arguments.overrides, **_SERVICE}}
        process = self.start("service", "service", {PRESET: json.dumps(told)})
        limit = time.perf_counter() + _START_SECONDS
        while not (found := _LISTENING.search(self.log.read_bytes())):
            if process.poll() is not None or time.perf_counter() > limit:
                raise RuntimeError(f"the service did not start: {self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.01)
        self.port = int(found[1])

    def start_worker(self, name: str, role: Role, concurrency: int, *, supervised: bool = False) -> None:
        """Start a worker."""
        told = WorkerArguments(self.arguments, role, concurrency, "threads")
        self.start(name, "supervisor" if supervised else "worker", told.environment())

    def kill(self, name: str) -> None:
        """End a process as a crash does, and whatever it supervises with it."""
        process = self.processes.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def wait_until_ready(self) -> None:
        """Wait until the service says that nothing is missing.

        Raises:
            RuntimeError: it took too long.
        """
        limit = time.perf_counter() + _START_SECONDS
        client = JobClient(self.port)
        while not client.ready():
            if time.perf_counter() > limit:
                raise RuntimeError(f"not ready: {self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.05)
        client.close()

    def process_ids(self) -> dict[str, int]:
        """Return the process ids by name, that of the server included."""
        ids = {name: process.pid for name, process in self.processes.items()}
        if self.server is not None and self.server.process_id is not None:
            ids["redis"] = self.server.process_id
        return ids

    def peak_bytes(self) -> dict[str, int]:
        """Return the most memory that each process had in use so far."""
        return {name: _peak_bytes(process_id) for name, process_id in self.process_ids().items()}

    def processor_seconds(self) -> dict[str, float]:
        """Return the processor time that each process has used so far."""
        return {name: _processor_seconds(process_id) for name, process_id in self.process_ids().items()}

    @property
    def log(self) -> Path:
        """Where all processes write."""
        return self.folder / "log"

    def end(self) -> None:
        """End all processes."""
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.terminate()
        limit = time.perf_counter() + _STOP_SECONDS
        for name in list(self.processes):
            with suppress(subprocess.TimeoutExpired):
                self.processes[name].wait(max(0.0, limit - time.perf_counter()))
            self.kill(name)


@contextmanager
def embedded(pause_seconds: float) -> Iterator[Running]:
    """Give a service that runs jobs itself."""
    with _folder() as folder:
        running = Running(folder, pause_seconds, PresetArguments("decision_compaction"))
        try:
            running.start_service()
            running.wait_until_ready()
            yield running
        finally:
            running.end()


@contextmanager
def distributed(
    pause_seconds: float,
    *,
    jobs: int = 1,
    scores: int = 1,
    concurrency: int = 128,
    appendonly: bool = False,
    supervised: bool = False,
) -> Iterator[Running]:
    """Give a service, a server and so many workers of each role.

    Args:
        pause_seconds: how long the decision model takes.
        jobs: workers that run jobs.
        scores: workers that ask the decision model.
        concurrency: decision requests at once in each of those.
        appendonly: whether the server keeps a file, as in production.
        supervised: whether workers are started again when they end.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(_folder())
        server = stack.enter_context(RedisServer(folder / "server", appendonly=appendonly))
        arguments = PresetArguments("distributed", {"execution.redis.url": server.url})
        running = Running(folder, pause_seconds, arguments, server)
        stack.callback(running.end)
        for number in range(1, jobs + 1):
            running.start_worker(f"jobs worker {number}", "jobs", 16, supervised=supervised)
        for number in range(1, scores + 1):
            running.start_worker(f"scores worker {number}", "scores", concurrency, supervised=supervised)
        running.start_service()
        running.wait_until_ready()
        yield running


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="reme-bench-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def _peak_bytes(process_id: int) -> int:
    status = Path(f"/proc/{process_id}/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def _processor_seconds(process_id: int) -> float:
    fields = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    ticks: int = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / ticks
