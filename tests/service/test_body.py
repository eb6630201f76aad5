"""Which bodies are read, and which are refused before or while they are read."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import anyio
import httpx
import pytest
from fastapi import FastAPI

from reme_compact.presets.schema import Preset, ServiceSettings
from reme_compact.service.app import create_app

Serving: TypeAlias = Callable[[FastAPI], AbstractAsyncContextManager[int]]

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}


@pytest.fixture
async def small(
    scripted: Callable[..., Any], connect: Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service that accepts 1,000 bytes."""
    preset = Preset(service=ServiceSettings(max_body_bytes=1000))
    async with connect(create_app(preset, scripted().as_step)) as open_client:
        yield open_client


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/vnd.history+json"],
)
async def test_json_media_types_are_read(client: httpx.AsyncClient, body: Any, content_type: str) -> None:
    content = httpx.Request("POST", "http://x", json=body).content
    answer = await client.post("/compact_context", content=content, headers={"content-type": content_type})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "text/json"},
        {"content-type": "applicationjson"},
        JSON | {"content-encoding": "gzip"},
    ],
)
async def test_anything_but_plain_json_is_415(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    answer = await client.post("/compact_context", content=b"{}", headers=headers)
    assert answer.status_code == 415
    assert answer.json()["code"] == "unsupported_media_type"


async def test_an_empty_body_is_400(client: httpx.AsyncClient) -> None:
    answer = await client.post("/compact_context", content=b"", headers=JSON)
    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid_json"
    assert "empty" in answer.json()["detail"]


@pytest.mark.parametrize("content", [b"[]", b"null", b'"text"', b"1"])
async def test_json_that_is_no_object_is_400(client: httpx.AsyncClient, content: bytes) -> None:
    answer = await client.post("/compact_context", content=content, headers=JSON)
    assert answer.status_code == 400
    assert "object" in answer.json()["detail"]


async def test_a_body_that_declares_too_much_is_413_before_it_is_read(small: httpx.AsyncClient) -> None:
    read = False

    async def watched() -> AsyncIterator[bytes]:
        nonlocal read
        read = True
        yield b" " * 1001

    answer = await small.post("/compact_context", content=watched(), headers=JSON | {"content-length": "1001"})
    assert not read
    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "request_too_large"
    assert "1000 bytes" in answer.json()["detail"]


async def test_a_streamed_body_is_413_as_soon_as_it_is_too_large(small: httpx.AsyncClient) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 300
            yield b" " * 300

    answer = await small.post("/compact_context", content=endless(), headers=JSON)
    assert answer.status_code == 413
    assert answer.json()["code"] == "request_too_large"
    assert sent == 1200


@pytest.mark.parametrize("declared", ["nonsense", "-1", "9" * 5000, "٣"])
async def test_an_odd_declared_length_is_never_a_failure_of_the_service(
    small: httpx.AsyncClient, body: Any, declared: str
) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", declared.encode())]
    answer = await small.post("/compact_context", content=b"{}", headers=headers)
    assert answer.status_code in {413, 422}


async def test_a_body_of_just_the_limit_is_read(small: httpx.AsyncClient) -> None:
    answer = await small.post("/compact_context", content=b"{}".ljust(1000), headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["problems"] == [{"path": "messages", "message": "is required"}]


async def test_a_client_that_stalls_is_let_go_and_its_slot_is_free_again(
    serving: Serving, scripted: Callable[..., Any], body: dict[str, Any]
) -> None:
    preset = Preset(service=ServiceSettings(max_active_requests=1, request_read_seconds=0.2))
    head = (
        b"POST /compact_context HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        b"Content-Type: application/json\r\nContent-Length: 10\r\n\r\n"
    )
    async with serving(create_app(preset, scripted().as_step)) as port:
        async with await anyio.connect_tcp("127.0.0.1", port) as stalled:
            await stalled.send(head + b"{")
            answer = await stalled.receive()
        assert b" 408 " in answer.split(b"\r\n")[0]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            assert (await client.post("/compact_context", json=body)).status_code == 200
