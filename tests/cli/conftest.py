"""What the tests of the command line share: a quiet environment, a stand-in service, a response to show."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from scripted_service import ScriptedService, scripted_service

from reme_compact.cli.exit_codes import ExitCode

REME = Path(sys.executable).with_name("reme")


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Work in an empty folder, with an archive below it, no decision model configured and a terminal of known size."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REME_ARCHIVE", str(tmp_path / "archive"))
    for name in ("API_KEY", "NAME", "BASE_URL", "BACKEND"):
        monkeypatch.delenv(f"DECISION_MODEL_{name}", raising=False)
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "REME_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def reme() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run the installed `reme` as a process of its own."""

    def run(*words: str | bytes, **settings: Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(  # noqa: S603 - our own program
            [REME, *words], capture_output=True, check=False, timeout=60, **settings
        )

    return run


@pytest.fixture(scope="session")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the service as a user would, on a free port, and stop it with Ctrl-C."""
    folder = tmp_path_factory.mktemp("service")
    with subprocess.Popen(  # noqa: S603 - our own program
        [REME, "start", "config=decision_compaction", "service.port=0", "service.log_format=json"],
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "DECISION_MODEL_BACKEND": "local", "REME_ARCHIVE": str(folder / "archive")},
    ) as process:
        assert process.stderr is not None
        started = (json.loads(line) for line in process.stderr)
        address: str = next(event["address"] for event in started if event["event"] == "listening")
        yield address.rpartition(":")[2]
        process.send_signal(signal.SIGINT)
        process.stderr.read()
    assert process.returncode == ExitCode.PROPOSAL


@dataclass
class StandIn:
    """A service that gives one fixed answer and remembers what it was asked."""

    port: int
    status: int = 200
    body: bytes = b""
    received: list[tuple[str, Any]] = field(default_factory=list)

    def answers(self, status: int, body: Any) -> None:
        self.status = status
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            service.received.append((self.path, json.loads(body)))
            self.send_response(service.status)
            self.send_header("content-length", str(len(service.body)))
            self.end_headers()
            self.wfile.write(service.body)

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service = StandIn(port=server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield service
        server.shutdown()
        thread.join()


@pytest.fixture
def scripted() -> Iterator[ScriptedService]:
    with scripted_service() as service:
        yield service


@pytest.fixture
def response() -> dict[str, Any]:
    """A standard response with one result of each kind that the report has to explain."""
    pairs = [("c1", "read_file"), ("c2", "run_tests"), ("c3", "deploy")]
    blocks = [
        block
        for call_id, name in pairs
        for block in (
            {"type": "tool_call", "id": call_id, "name": name, "input": "{}", "state": "finished"},
            {"type": "tool_result", "id": call_id, "name": name, "output": "…", "state": "success"},
        )
    ]
    stats = {
        "messages_before": 2,
        "messages_after": 2,
        "chars_before": 20_000,
        "chars_after": 15_000,
        "tokens_before": 5_000,
        "tokens_after": 4_000,
        "token_counter": {"name": "estimate", "approximate": True},
        "candidates": 2,
        "asked": 1,
        "requests": 1,
        "elapsed_ms": 12,
        "protected_by": {"tool_not_eligible": 1},
        "details": {"t3": "tool_not_eligible"},
        "errors": [],
        "warnings": [],
    }
    answer = {
        "schema_version": 2,
        "messages": [{"role": "assistant", "content": blocks}],
        "decisions": [
            decision("t1", "c1", "preview", "low_relevance", 0.03, "archive/c1"),
            decision("t2", "c2", "keep", "no_savings", None, "archive/c2"),
            decision("t3", "c3", "keep", "protected", None, None),
        ],
        "changed": True,
        "reason": "compacted",
        "budget_met": None,
        "stats": stats,
    }
    return {"answer": answer, "success": True, "metadata": {"compaction": stats}}


def decision(
    id: str,  # noqa: A002 - the name on the wire
    call_id: str,
    action: str,
    reason: str,
    probability: float | None,
    source_ref: str | None,
) -> dict[str, Any]:
    return {
        "id": id,
        "call_id": call_id,
        "action": action,
        "reason": reason,
        "probability": probability,
        "source_ref": source_ref,
    }
