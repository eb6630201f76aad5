"""Real connections that misbehave: silent, half-sent, unread, half-closed, too many, no HTTP at all."""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest
from anyio.abc import SocketStream
from fastapi import FastAPI
from models import HangingModel, always

from reme_compact.compaction.step import CompactContextStep
from reme_compact.presets.schema import Preset, ServiceSettings
from reme_compact.service.app import create_app
from reme_compact.service.server import Server

pytestmark = pytest.mark.anyio

HEAD = b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


@asynccontextmanager
async def served(app: FastAPI | None = None, **settings: Any) -> AsyncIterator[int]:
    service = ServiceSettings(**settings)
    app = app or create_app(Preset(service=service), CompactContextStep(as_decision_model=always(0.0)))
    with anyio.fail_after(60), socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(app, service)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.run_on, listener)
            yield listener.getsockname()[1]
            server.should_exit = True


async def everything_from(stream: SocketStream) -> bytes:
    """Read until the server closes the connection."""
    pieces = [piece async for piece in stream]
    return b"".join(pieces)


def problem_in(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower()
    assert b"application/problem+json" in head
    document = json.loads(body)
    assert document["status"] == int(head.split()[1])
    return document["status"], document["code"]


@pytest.mark.parametrize(("sent", "told"), [(b"", None), (b"GET /hea", (408, "request_timeout"))])
async def test_a_connection_without_a_whole_head_is_ended(sent: bytes, told: tuple[int, str] | None) -> None:
    async with served(request_read_seconds=0.2) as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        if sent:
            await stream.send(sent)
        answer = await everything_from(stream)
    assert (problem_in(answer) if answer else None) == told


async def test_a_head_that_only_trickles_is_ended_all_the_same() -> None:
    async with served(request_read_seconds=0.3) as port, await anyio.connect_tcp("127.0.0.1", port) as stream:

        async def trickle() -> None:
            await stream.send(b"GET /health HTTP/1.1\r\n")
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                while True:
                    await stream.send(b"X-Slow: 1\r\n")
                    await anyio.sleep(0.05)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(trickle)
            assert problem_in(await stream.receive()) == (408, "request_timeout")


@pytest.mark.parametrize(
    ("path", "sent", "told"),
    [
        (b"/compact_context", b"{", (408, "request_timeout")),
        (b"/jobs/compact_context", b"", (408, "request_timeout")),
        (b"/nothing", b"{", (404, "not_found")),
    ],
)
async def test_an_answer_before_the_end_of_the_body_ends_the_connection(
    path: bytes, sent: bytes, told: tuple[int, str]
) -> None:
    async with served(request_read_seconds=0.2) as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(HEAD % (path, 100) + sent)
        assert problem_in(await everything_from(stream)) == told


async def test_a_client_that_sends_on_still_reads_why_it_was_refused() -> None:
    body = b" " * 4_000_000
    async with served(max_body_bytes=1000) as port, httpx.AsyncClient() as client:
        answer = await client.post(
            f"http://127.0.0.1:{port}/compact_context", content=body, headers={"Content-Type": "application/json"}
        )
    assert (answer.status_code, answer.headers["connection"]) == (413, "close")


async def test_a_connection_is_used_again_after_whole_requests() -> None:
    async with served() as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        for sent in (HEAD % (b"/compact_context", 2) + b"{}", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"):
            await stream.send(sent)
            assert b"connection: close" not in (await stream.receive()).lower()


async def test_a_connection_too_many_is_503() -> None:
    async with (
        served(max_connections=1) as port,
        httpx.AsyncClient() as client,
        await anyio.connect_tcp("127.0.0.1", port) as stream,
    ):
        await stream.send(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b" 200 OK" in await stream.receive()
        refused = await client.get(f"http://127.0.0.1:{port}/health")
        await stream.aclose()
    assert (refused.status_code, refused.json()["code"]) == (503, "too_busy")
    assert "service.max_connections" in refused.json()["message"]
    assert int(refused.headers["retry-after"]) >= 1


async def test_a_client_that_reads_nothing_is_dropped(
    shrinkable: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    shrinkable["messages"][1]["content"][1]["output"] = "x" * 30_000_000
    settings = ServiceSettings(response_write_seconds=0.3)
    app = create_app(Preset(service=settings), CompactContextStep(as_decision_model=always(1.0)))
    caplog.set_level("INFO", logger="reme_compact")
    async with (
        served(app, response_write_seconds=0.3) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=50) as client,
    ):
        job = (await client.post("/jobs/compact_context", json=shrinkable, headers={"Prefer": "wait=50"})).json()
        whole = int((await client.head(f"/jobs/{job['id']}/result")).headers["content-length"])
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            reader.connect(("127.0.0.1", port))
            reader.sendall(f"GET /jobs/{job['id']}/result HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            while "its client does not read" not in caplog.text:  # noqa: ASYNC110 - a log sets no event
                await anyio.sleep(0.02)
            received = 0
            with suppress(ConnectionResetError):
                while piece := await anyio.to_thread.run_sync(reader.recv, 1 << 20):
                    received += len(piece)
        assert (await client.get("/health")).status_code == 200
    assert received < whole


async def test_bytes_that_are_no_http_are_a_problem_too(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="reme_compact"):
        async with served() as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(b"\x16\x03\x01 secret\r\n\r\n")
            assert problem_in(await everything_from(stream)) == (400, "invalid_http")
    assert "secret" not in caplog.text


@pytest.mark.parametrize(("prefer", "status"), [("", 202), ("Prefer: wait=50\r\n", 202)])
async def test_a_client_that_ends_its_side_after_a_submission_is_answered(
    body: dict[str, Any], prefer: str, status: int
) -> None:
    app = create_app(step=CompactContextStep(as_decision_model=HangingModel()))
    content = json.dumps(body).encode()
    async with served(app, shutdown_grace_seconds=0) as port, await anyio.connect_tcp("127.0.0.1", port) as stream:
        head = HEAD % (b"/jobs/compact_context", len(content))
        await stream.send(head.replace(b"Host", prefer.encode() + b"Host") + content)
        await stream.send_eof()
        answer = await everything_from(stream)
    assert int(answer.split()[1]) == status
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["status"] in {"queued", "running", "succeeded"}


async def test_a_client_that_ends_its_side_while_it_waits_is_told_that_the_work_was_given_up(
    shrinkable: dict[str, Any],
) -> None:
    model = HangingModel()
    content = json.dumps(shrinkable).encode()
    async with (
        served(create_app(step=CompactContextStep(as_decision_model=model))) as port,
        await anyio.connect_tcp("127.0.0.1", port) as stream,
    ):
        await stream.send(HEAD % (b"/compact_context", len(content)) + content)
        await model.asked.wait()
        await stream.send_eof()
        answer = await everything_from(stream)
    assert answer.split()[1] == b"499"
    assert "/jobs/compact_context" in json.loads(answer.partition(b"\r\n\r\n")[2])["message"]
    assert model.cancelled == 1


@pytest.mark.parametrize("stuck", ["upload", "silent"])
async def test_no_stuck_client_holds_up_the_end(stuck: str, caplog: pytest.LogCaptureFixture) -> None:
    """The grace is an hour: only a server that does not wait for such a client ends before the test fails."""
    answer = b""
    async with served(shutdown_grace_seconds=3600) as port, await anyio.connect_tcp("127.0.0.1", port) as health:
        stream = await anyio.connect_tcp("127.0.0.1", port)
        await stream.send(HEAD % (b"/compact_context", 100) + b"{" if stuck == "upload" else b"GET /")
        await health.send(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await health.receive()
    async with stream:
        answer = await everything_from(stream)
    if stuck == "upload":
        assert problem_in(answer) == (503, "stopping")
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
