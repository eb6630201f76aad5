"""A scripted step, and clients of applications in this process and on a real server."""

import copy
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast

import anyio
import httpx
import pytest
from fastapi import FastAPI

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.result import CompactionResult, Response
from reme_compact.decision.health import DecisionModelHealth
from reme_compact.presets.schema import ServiceSettings
from reme_compact.service.app import create_app
from reme_compact.service.server import Server

Run: TypeAlias = Callable[[CompactionRequest], Awaitable[Response]]
Connect: TypeAlias = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]
Serving: TypeAlias = Callable[[FastAPI], AbstractAsyncContextManager[int]]


async def unchanged(request: CompactionRequest) -> Response:
    stats = {"asked": 0, "chars_before": 0, "chars_after": 0}
    result = CompactionResult(messages=request.messages, changed=False, reason="no_change", stats=stats)
    answer = {**result.model_dump(exclude={"messages"}), "messages": request.messages}
    return Response(answer=answer, metadata={"compaction": answer["stats"]})


class ScriptedStep:
    """Answers with whatever a test lets it do."""

    archive = None

    def __init__(self, run: Run = unchanged) -> None:
        self.health = DecisionModelHealth()
        self.closed = False
        self.run = run

    def describe_decision_model(self) -> dict[str, str | None]:
        return {"backend": "scripted", "model": None}

    async def aclose(self) -> None:
        self.closed = True

    @property
    def compactor(self) -> Any:
        return self

    def check(self, request: CompactionRequest) -> None:
        """Refuse nothing."""

    async def compact(self, get_request: Callable[[], CompactionRequest], **_: Any) -> Response:
        return await self.run(get_request())

    @property
    def as_step(self) -> CompactContextStep:
        return cast("CompactContextStep", self)


@pytest.fixture
def scripted() -> Callable[..., ScriptedStep]:
    return ScriptedStep


@pytest.fixture
def noon() -> datetime:
    return datetime(2026, 11, 30, 12, tzinfo=UTC)


def unstarted_client_of(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")


@asynccontextmanager
async def client_of(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with app.router.lifespan_context(app), unstarted_client_of(app) as open_client:
        yield open_client


@pytest.fixture
def connect() -> Connect:
    """Start applications in this process; the context's value is a client."""
    return client_of


@pytest.fixture
def connect_unstarted() -> Callable[[FastAPI], httpx.AsyncClient]:
    """Make clients of applications in this process whose lifespan is not entered."""
    return unstarted_client_of


@pytest.fixture
async def client(scripted: Callable[..., ScriptedStep]) -> AsyncIterator[httpx.AsyncClient]:
    """A client of an application that changes nothing."""
    async with client_of(create_app(step=scripted().as_step)) as open_client:
        yield open_client


@pytest.fixture
def serving() -> Serving:
    """Serve an application on a free loopback port; the context's value is the port."""

    @asynccontextmanager
    async def serve(app: FastAPI) -> AsyncIterator[int]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            server = Server(app, ServiceSettings(shutdown_grace_seconds=5))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(server.run_on, listener)
                try:
                    yield listener.getsockname()[1]
                finally:
                    server.should_exit = True

    return serve


@pytest.fixture
def body() -> dict[str, Any]:
    """A valid request."""
    return copy.deepcopy(CompactionRequest.example)


@pytest.fixture
def shrinkable(body: dict[str, Any]) -> dict[str, Any]:
    """A valid request whose one result can get shorter."""
    changed: dict[str, Any] = json.loads(json.dumps(body))
    changed["messages"][1]["content"][1]["output"] = "icons/cart.svg, " * 200
    return changed
