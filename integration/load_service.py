"""Service processes for tests. Run as a program, this file is one, whose decision model asks a counting server."""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from distributed_fixtures import LONGEST_WAIT, CountedModel, CountingServer
from reme_workers.parent_death import end_with_parent, names_parent
from reme_workers.worker_arguments import PresetArguments

from reme_compact.decision import backends
from reme_compact.decision.settings import DecisionModelSettings
from reme_compact.presets.load import load_preset
from reme_compact.service.server import serve

_ARGUMENTS = "REME_TEST_SERVICE"
_LISTENING = re.compile(rb"http://127\.0\.0\.1:\d+")


@dataclass(frozen=True)
class ServiceProcess:
    """A service in a process of its own."""

    process: subprocess.Popen[bytes]
    url: str

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.kill()
        self.process.wait()

    def resident_bytes(self) -> int:
        """Return how much memory it has in use; 0 where that cannot be read."""
        return resident_bytes(self.process.pid)


def resident_bytes(process_id: int) -> int:
    """Return how much memory a process has in use; 0 where that cannot be read."""
    try:
        status = Path(f"/proc/{process_id}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


@contextmanager
def service_process(folder: Path, arguments: PresetArguments) -> Iterator[ServiceProcess]:
    """Start a service on a free port and wait until it listens; end it afterwards.

    Args:
        folder: holds `model.sock`, where a counting server listens, and the log.
        arguments: its preset.
    """
    overrides = {**arguments.overrides, "service.port": "0", "service.log_level": "info"}
    told = {"config": arguments.config, "overrides": overrides, "model": str(folder / "model.sock")}
    path = folder / f"service-{time.monotonic_ns()}.log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__))],
            env={**os.environ, **names_parent(), _ARGUMENTS: json.dumps(told)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield ServiceProcess(process, _address(process, path))
    finally:
        process.kill()
        process.wait()


@asynccontextmanager
async def counting_server(folder: Path) -> AsyncIterator[CountingServer]:
    """Answer decision requests at `model.sock` in a folder."""
    model = CountingServer()
    model.gate.set()
    listener = await asyncio.start_unix_server(model.handle, folder / "model.sock", limit=2**20, backlog=1000)
    try:
        yield model
    finally:
        listener.close()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    limit = time.monotonic() + LONGEST_WAIT
    while (found := _LISTENING.search(log.read_bytes())) is None:
        assert process.poll() is None, log.read_text(errors="replace")
        assert time.monotonic() < limit, log.read_text(errors="replace")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
    return found[0].decode()


def _serve() -> None:
    end_with_parent()
    told = json.loads(os.environ.pop(_ARGUMENTS))

    def build(settings: DecisionModelSettings) -> CountedModel:
        del settings
        return CountedModel(told["model"])

    backends.BUILDERS["local"] = build
    serve(load_preset(told["config"], overrides=told["overrides"]))


if __name__ == "__main__":
    _serve()
