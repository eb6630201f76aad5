"""HEAD, OPTIONS and escaped slashes are served as HTTP says."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import httpx
import pytest
from fastapi import FastAPI
from models import HangingModel

from reme_compact.compaction.step import CompactContextStep
from reme_compact.service.app import create_app

pytestmark = pytest.mark.anyio

Serving = Callable[[FastAPI], AbstractAsyncContextManager[int]]


@pytest.mark.parametrize("path", ["/health", "/ready", "/jobs", "/metrics", "/jobs/x", "/nothing"])
async def test_head_is_answered_as_get_without_its_content(serving: Serving, path: str) -> None:
    with anyio.fail_after(60):
        app = create_app(step=CompactContextStep(as_decision_model=HangingModel()))
        async with serving(app) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            head, get = await client.head(path), await client.get(path)
            assert (await client.get("/health")).status_code == 200
    assert (head.status_code, head.headers["content-type"]) == (get.status_code, get.headers["content-type"])
    assert int(head.headers["content-length"]) > 0
    assert head.content == b""


async def test_head_of_a_stream_of_events_ends(serving: Serving, shrinkable: dict[str, Any]) -> None:
    with anyio.fail_after(60):
        app = create_app(step=CompactContextStep(as_decision_model=HangingModel()))
        async with serving(app) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            job_id = (await client.post("/jobs/compact_context", json=shrinkable)).json()["id"]
            head = await client.head(f"/jobs/{job_id}/events")
            await client.delete(f"/jobs/{job_id}")
    assert head.status_code == 200
    assert head.headers["content-type"].startswith("text/event-stream")


async def test_head_is_counted_as_what_it_is(client: httpx.AsyncClient) -> None:
    await client.head("/health")
    text = (await client.get("/metrics")).text
    assert 'reme_http_requests_total{method="HEAD",route="/health",status="200"} 1.0' in text


@pytest.mark.parametrize(
    ("path", "methods"), [("/health", "GET, HEAD, OPTIONS"), ("/jobs/compact_context", "POST, OPTIONS")]
)
async def test_options_tells_the_methods_of_a_path(client: httpx.AsyncClient, path: str, methods: str) -> None:
    answer = await client.options(path)
    assert (answer.status_code, answer.headers["allow"], answer.content) == (204, methods, b"")


async def test_an_escaped_slash_separates_nothing(client: httpx.AsyncClient) -> None:
    for path in ("/jobs/x%2Fresult", "/jobs%2fx"):
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
