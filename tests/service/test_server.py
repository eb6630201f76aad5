"""The service as a process of its own: start, address, signals, exit status, failing starts."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from reme_compact.contract.request import CompactionRequest
from reme_compact.presets.schema import ServiceSettings
from reme_compact.service.app import create_app
from reme_compact.service.server import Server

SCRIPT = """
import sys
from reme_compact.contract.errors import ReMeError
from reme_compact.presets.load import load_preset
from reme_compact.service.server import serve
try:
    serve(load_preset(overrides=dict(argument.split("=", 1) for argument in sys.argv[1:])))
except ReMeError as error:
    sys.exit(f"{error.code}: {error.message}")
"""


@contextmanager
def started(folder: Path, *overrides: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Start a service process; it is killed at the end if it still runs."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("DECISION_MODEL_")}
    with subprocess.Popen(  # noqa: S603 - our own interpreter and script
        [sys.executable, "-c", SCRIPT, "service.port=0", "service.log_format=json", *overrides],
        cwd=folder,
        env=inherited | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line_about(process: subprocess.Popen[str], event: str) -> dict[str, Any]:
    assert process.stderr is not None
    for text in process.stderr:
        line: dict[str, Any] = json.loads(text)
        if line["event"] == event:
            return line
    raise AssertionError(f"the log ended without {event!r}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_a_signal_and_ends_with_status_0(tmp_path: Path, number: signal.Signals) -> None:
    with started(tmp_path) as process:
        address = line_about(process, "listening")["address"]
        assert address.startswith("http://127.0.0.1:")
        with httpx.Client(base_url=address) as client:
            assert client.get("/ready?token=secret").json()["decision_model"]["backend"] == "local"
            request = line_about(process, "request")
            assert client.post("/compact_context", json=CompactionRequest.example).status_code == 200
        process.send_signal(number)
        output, log = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output == ""
    assert request["path"] == "/ready"
    assert "secret" not in str(request)
    assert "icons" not in log
    assert "Traceback" not in log
    assert json.loads(log.splitlines()[-1])["event"] == "stopped"


def test_an_idle_connection_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with started(tmp_path, "service.shutdown_grace_seconds=3600") as process:
        port = int(line_about(process, "listening")["address"].rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)):
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("overrides", "environment", "told"),
    [
        (["service.host=0.0.0.0"], {}, "invalid_configuration: service.host: '0.0.0.0'"),
        ([], {"DECISION_MODEL_BACKEND": "agentscope"}, "missing_credential: "),
    ],
)
def test_a_start_that_fails_says_why_and_ends_with_an_error(
    tmp_path: Path, overrides: list[str], environment: dict[str, str], told: str
) -> None:
    with started(tmp_path, *overrides, **environment) as process:
        output, log = process.communicate(timeout=60)
    assert process.returncode == 1
    assert output == ""
    [line] = log.splitlines()
    assert line.startswith(told)


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with started(tmp_path, f"service.port={port}") as process:
            _, log = process.communicate(timeout=60)
    assert process.returncode == 1
    [line] = log.splitlines()
    assert line.startswith(f"invalid_configuration: service.port: port {port} on 127.0.0.1 is in use")


@pytest.mark.anyio
@pytest.mark.parametrize(("grace", "finishes"), [(3600, True), (0, False)])
async def test_a_request_under_way_gets_its_grace_and_is_then_cancelled(
    scripted: Callable[..., Any], body: dict[str, Any], grace: float, finishes: bool
) -> None:
    step = scripted()
    unchanged = step.run
    asked, go_on = anyio.Event(), anyio.Event()
    ends: list[str] = []

    async def wait(request: CompactionRequest) -> Any:
        asked.set()
        try:
            await go_on.wait()
        except BaseException:
            ends.append("cancelled")
            raise
        ends.append("finished")
        return await unchanged(request)

    step.run = wait
    answers: list[httpx.Response] = []
    with anyio.fail_after(60), socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(create_app(step=step.as_step), ServiceSettings(shutdown_grace_seconds=grace))

        async def post() -> None:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
                answers.append(await client.post("/compact_context", json=body))

        port = listener.getsockname()[1]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.run_on, listener)
            tasks.start_soon(post)
            await asked.wait()
            server.should_exit = True
            if finishes:
                go_on.set()
    assert ends == ["finished" if finishes else "cancelled"]
    [answer] = answers
    assert answer.status_code == (200 if finishes else 503)
    if not finishes:
        assert (answer.json()["code"], answer.json()["retryable"]) == ("stopping", True)


@pytest.mark.anyio
async def test_accepted_connections_send_small_answers_at_once(scripted: Callable[..., Any]) -> None:
    """They inherit it from the listening socket; without it, each answer waits 40 ms for the client's system."""
    app = create_app(step=scripted().as_step)
    with anyio.fail_after(60), socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(app, ServiceSettings())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.run_on, listener)
            async with httpx.AsyncClient() as client:
                await client.get(f"http://127.0.0.1:{listener.getsockname()[1]}/health")
            assert listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            server.should_exit = True
