"""A client that goes away stops the work."""

from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest
from anyio.abc import ByteStream
from fastapi import FastAPI

from reme_compact.compaction.step import CompactContextStep
from reme_compact.presets.schema import Preset, ServiceSettings
from reme_compact.service.app import create_app
from reme_compact.service.disconnect import ClientGoneError, while_connected

pytestmark = pytest.mark.anyio

Serving = Callable[[FastAPI], Any]


async def send_request(port: int, body: bytes, *, declared: int | None = None) -> ByteStream:
    connection = await anyio.connect_tcp("127.0.0.1", port)
    await connection.send(
        b"POST /compact_context HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (declared or len(body), body)
    )
    return connection


async def test_a_disconnect_cancels_the_decision_request(serving: Serving, shrinkable: dict[str, Any]) -> None:
    asked, cancelled = anyio.Event(), anyio.Event()

    async def model(*_: Any) -> Any:
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    preset = Preset(service=ServiceSettings(max_active_requests=1))
    step = CompactContextStep(as_decision_model=model)
    body = httpx.Request("POST", "http://x", json=shrinkable).content
    with anyio.fail_after(60):
        async with serving(create_app(preset, step)) as port:
            connection = await send_request(port, body)
            await asked.wait()
            assert not cancelled.is_set()
            await connection.aclose()
            await cancelled.wait()


async def test_a_disconnect_gives_the_slot_free_and_logs_no_error(
    scripted: Callable[..., Any], serving: Serving, body: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    step = scripted()
    unchanged = step.run
    asked, released = anyio.Event(), anyio.Event()

    async def wait(_: Any) -> Any:
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            step.run = unchanged
            released.set()

    step.run = wait
    app = create_app(Preset(service=ServiceSettings(max_active_requests=1)), step.as_step)
    content = httpx.Request("POST", "http://x", json=body).content
    with anyio.fail_after(60):
        async with serving(app) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            connection = await send_request(port, content)
            await asked.wait()
            assert (await client.post("/compact_context", json=body)).status_code == 503
            await connection.aclose()
            await released.wait()
            while (answer := await client.post("/compact_context", json=body)).status_code == 503:
                pass
    assert answer.status_code == 200
    assert [record.message for record in caplog.records if record.levelname in {"WARNING", "ERROR"}] == []


async def test_a_client_that_leaves_within_its_body_gives_the_slot_free(
    scripted: Callable[..., Any], serving: Serving, body: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(Preset(service=ServiceSettings(max_active_requests=1)), scripted().as_step)
    with anyio.fail_after(60):
        async with serving(app) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            connection = await send_request(port, b"{", declared=100)
            while (await client.post("/compact_context", json=body)).status_code == 200:
                pass
            await connection.aclose()
            while (answer := await client.post("/compact_context", json=body)).status_code == 503:
                pass
    assert answer.status_code == 200
    assert [record.message for record in caplog.records if record.levelname in {"WARNING", "ERROR"}] == []


async def connected() -> dict[str, Any]:
    await anyio.sleep_forever()
    raise AssertionError


async def gone() -> dict[str, Any]:
    return {"type": "http.disconnect"}


async def test_a_failure_of_the_work_arrives_as_it_is() -> None:
    async def fail() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await while_connected(connected, fail)


async def test_the_work_is_ended_before_the_disconnect_is_told() -> None:
    ended = False

    async def work() -> None:
        nonlocal ended
        try:
            await anyio.sleep_forever()
        finally:
            ended = True

    with pytest.raises(ClientGoneError):
        await while_connected(gone, work)
    assert ended


async def test_a_cancellation_from_outside_is_passed_on() -> None:
    with anyio.move_on_after(0) as scope:
        await while_connected(connected, anyio.sleep_forever)
    assert scope.cancelled_caught
