"""A real service on a free port, and both clients behind one face, so that one suite is about both."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from scripted_service import ScriptedService, scripted_service

from reme_compact.client import AsyncClient, Client, following

Connect: TypeAlias = Callable[..., Any]

LONGEST_BODY = 1_000_000


@pytest.fixture(autouse=True)
def no_key_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REME_API_KEY", raising=False)


@pytest.fixture
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "WAITS", (0.0,) * 3)


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the service as a user would, and stop it with Ctrl-C."""
    folder = tmp_path_factory.mktemp("service")
    reme = Path(sys.executable).with_name("reme")
    settings = ("service.port=0", "service.log_format=json", f"service.max_body_bytes={LONGEST_BODY}")
    with subprocess.Popen(  # noqa: S603 - our own program
        [reme, "start", "config=decision_compaction", *settings],
        stderr=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "DECISION_MODEL_BACKEND": "local", "REME_ARCHIVE": str(folder / "archive")},
    ) as process:
        assert process.stderr is not None
        started = (json.loads(line) for line in process.stderr)
        address: str = next(event["address"] for event in started if event["event"] == "listening")
        yield address
        process.send_signal(signal.SIGINT)
        process.stderr.read()


@pytest.fixture
def scripted() -> Iterator[ScriptedService]:
    with scripted_service() as service:
        yield service


class Waited:
    """An asynchronous client whose calls are waited for, each in a task of its own."""

    def __init__(self, client: AsyncClient, portal: BlockingPortal) -> None:
        self._client = client
        self._portal = portal

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)
        if name in ("jobs", "events"):
            return lambda *positional, **named: self._steps(method(*positional, **named))
        return lambda *positional, **named: self._portal.start_task_soon(lambda: method(*positional, **named)).result()

    def _steps(self, stream: Any) -> Iterator[Any]:
        try:
            while True:
                yield self._portal.call(stream.__anext__)
        except StopAsyncIteration:
            return
        finally:
            self._portal.call(stream.aclose)


@pytest.fixture(params=["sync", "async"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Make clients of one kind, and close them."""
    with ExitStack() as stack:
        if request.param == "sync":
            yield lambda *positional, **named: stack.enter_context(Client(*positional, **named))
            return
        portal = stack.enter_context(start_blocking_portal())

        def connect(*positional: Any, **named: Any) -> Waited:
            client = AsyncClient(*positional, **named)
            stack.callback(portal.call, client.close)
            return Waited(client, portal)

        yield connect


@pytest.fixture
def to_script(connect: Connect, scripted: ScriptedService) -> Connect:
    """Make clients of the scripted service."""
    return lambda **named: connect(f"http://127.0.0.1:{scripted.port}", **named)
