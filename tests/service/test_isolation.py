"""Two keys, one service: what either can learn of the other's jobs, which is nothing."""

import hashlib
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import httpx
import pytest
from fastapi import FastAPI
from models import HangingModel, always

from reme_compact.compaction.step import CompactContextStep
from reme_compact.presets.schema import ApiKeySettings, Preset, ServiceSettings
from reme_compact.service.app import create_app

pytestmark = pytest.mark.anyio

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]
Serving = Callable[[FastAPI], AbstractAsyncContextManager[int]]

ALICE, BOB, ADMIN = ({"Authorization": f"Bearer reme_secret-of-{name}"} for name in ("alice", "bob", "admin"))
NEVER_EXISTED = "019000000000-00000000000000000000"


def settings_of(name: str, **limits: Any) -> ApiKeySettings:
    return ApiKeySettings(sha256=hashlib.sha256(f"reme_secret-of-{name}".encode()).hexdigest(), **limits)


PRESET = Preset(
    service=ServiceSettings(
        api_keys={
            "alice": settings_of("alice", max_active_jobs=1),
            "bob": settings_of("bob"),
            "admin": settings_of("admin", administrator=True),
        }
    )
)

READINGS = [("GET", ""), ("GET", "/result"), ("GET", "/events"), ("DELETE", "")]


@pytest.fixture
async def client(connect: Connect) -> AsyncIterator[httpx.AsyncClient]:
    step = CompactContextStep(as_decision_model=always(0.0))
    async with connect(create_app(PRESET, step)) as open_client:
        yield open_client


@pytest.fixture
async def hanging(connect: Connect) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service whose jobs do not end."""
    async with connect(create_app(PRESET, CompactContextStep(as_decision_model=HangingModel()))) as open_client:
        yield open_client


async def submit(client: httpx.AsyncClient, key: dict[str, str], body: dict[str, Any], **headers: str) -> str:
    answer = await client.post("/jobs/compact_context", json=body, headers=key | headers)
    assert answer.status_code in {200, 202}
    return str(answer.json()["id"])


def without_instance(answer: httpx.Response) -> dict[str, Any]:
    return {name: value for name, value in answer.json().items() if name != "instance"}


@pytest.mark.parametrize(("method", "path"), READINGS)
async def test_another_key_s_job_does_not_exist(
    client: httpx.AsyncClient, shrinkable: dict[str, Any], method: str, path: str
) -> None:
    job_id = await submit(client, ALICE, shrinkable, Prefer="wait=30")
    foreign = await client.request(method, f"/jobs/{job_id}{path}", headers=BOB)
    absent = await client.request(method, f"/jobs/{NEVER_EXISTED}{path}", headers=BOB)
    own = await client.request(method, f"/jobs/{job_id}{path}", headers=ALICE)
    assert foreign.status_code == 404
    assert foreign.json()["code"] == "job_not_found"
    assert without_instance(foreign) == without_instance(absent)
    assert job_id not in foreign.text
    assert own.status_code == 200


async def test_another_key_s_running_job_cannot_be_cancelled(
    hanging: httpx.AsyncClient, shrinkable: dict[str, Any]
) -> None:
    job_id = await submit(hanging, ALICE, shrinkable)
    assert (await hanging.delete(f"/jobs/{job_id}", headers=BOB)).status_code == 404
    assert (await hanging.get(f"/jobs/{job_id}", headers=ALICE)).json()["status"] in {"queued", "running"}
    assert (await hanging.delete(f"/jobs/{job_id}", headers=ALICE)).json()["status"] == "cancelled"


async def test_each_key_lists_its_own_jobs_and_an_administrator_all(
    client: httpx.AsyncClient, shrinkable: dict[str, Any]
) -> None:
    alice = await submit(client, ALICE, shrinkable, Prefer="wait=30")
    bob = [await submit(client, BOB, shrinkable, Prefer="wait=30") for _ in range(3)]
    listed = {}
    for name, key in (("alice", ALICE), ("bob", BOB), ("admin", ADMIN)):
        page = await client.get("/jobs", headers=key)
        listed[name] = {job["id"] for job in page.json()["jobs"]}
    assert listed == {"alice": {alice}, "bob": set(bob), "admin": {alice, *bob}}


async def test_another_key_s_cursor_shows_only_one_s_own_jobs(
    client: httpx.AsyncClient, shrinkable: dict[str, Any]
) -> None:
    alice = await submit(client, ALICE, shrinkable, Prefer="wait=30")
    for _ in range(2):
        await submit(client, BOB, shrinkable, Prefer="wait=30")
    cursor = (await client.get("/jobs?limit=1", headers=BOB)).json()["next_cursor"]
    page = await client.get("/jobs", params={"cursor": cursor}, headers=ALICE)
    assert {job["id"] for job in page.json()["jobs"]} <= {alice}


async def test_an_administrator_reads_watches_and_cancels_every_job(
    client: httpx.AsyncClient, shrinkable: dict[str, Any]
) -> None:
    job_id = await submit(client, ALICE, shrinkable, Prefer="wait=30")
    for method, path in READINGS:
        assert (await client.request(method, f"/jobs/{job_id}{path}", headers=ADMIN)).status_code == 200


@pytest.mark.parametrize("path", ["/jobs/compact_context", "/compact_context"])
async def test_the_same_idempotency_key_of_two_owners_means_two_jobs(
    client: httpx.AsyncClient, shrinkable: dict[str, Any], path: str
) -> None:
    headers = {"Idempotency-Key": "once", "Prefer": "wait=30"}
    first = await client.post(path, json=shrinkable, headers=ALICE | headers)
    again = await client.post(path, json=shrinkable, headers=ALICE | headers)
    shrinkable["goal"] = "something else"
    foreign = await client.post(path, json=shrinkable, headers=BOB | headers)
    assert [answer.status_code for answer in (first, again, foreign)] == [200, 200, 200]
    assert again.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in foreign.headers


async def test_one_key_s_limit_does_not_bind_the_others(hanging: httpx.AsyncClient, shrinkable: dict[str, Any]) -> None:
    await submit(hanging, ALICE, shrinkable)
    refused = await hanging.post("/jobs/compact_context", json=shrinkable, headers=ALICE)
    assert refused.status_code == 429
    assert refused.json()["code"] == "too_many_jobs"
    assert int(refused.headers["retry-after"]) >= 1
    await submit(hanging, BOB, shrinkable)


@pytest.mark.parametrize("key", [{}, {"Authorization": "Bearer reme_secret-of-nobody"}])
async def test_without_a_known_key_every_path_but_health_is_closed(
    client: httpx.AsyncClient, shrinkable: dict[str, Any], key: dict[str, str]
) -> None:
    document = (await client.get("/openapi.json", headers=ALICE)).json()
    job_id = await submit(client, ALICE, shrinkable, Prefer="wait=30")
    asked = [("get", "/openapi.json"), ("get", "/nowhere"), ("options", "/jobs"), ("put", "/ready")]
    for path, operations in document["paths"].items():
        asked += [(method, path.replace("{job_id}", job_id)) for method in operations]
    assert len(asked) >= 12
    for method, path in asked:
        answer = await client.request(method, path, headers=key)
        if path == "/health":
            assert answer.status_code == 200
        else:
            assert (path, answer.status_code) == (path, 401)
            assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_neither_keys_nor_content_get_into_logs_documents_or_metrics(
    client: httpx.AsyncClient, shrinkable: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    shrinkable["goal"] = "a confidential goal"
    job_id = await submit(client, ALICE, shrinkable, Prefer="wait=30")
    shown = [await client.get(path, headers=ALICE) for path in ("/jobs", f"/jobs/{job_id}", "/ready", "/metrics")]
    shown.append(await client.get(f"/jobs/{job_id}/events", headers=ALICE))
    shown.append(await client.get("/jobs", headers={"Authorization": "Bearer reme_secret-of-nobody"}))
    texts = [caplog.text, *(str(record.__dict__) for record in caplog.records), *(answer.text for answer in shown)]
    private = ["secret-of", "confidential", "icons/cart.svg", PRESET.service.api_keys["alice"].sha256]
    for text in texts:
        assert not [word for word in private if word in text]


async def test_a_page_of_a_configured_origin_can_read_why_it_was_refused(connect: Connect) -> None:
    service = PRESET.service.model_copy(update={"cors_origins": ("https://app.example.org",)})
    preset = PRESET.model_copy(update={"service": service})
    asking = {
        "Origin": "https://app.example.org",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, idempotency-key",
    }
    async with connect(create_app(preset, CompactContextStep(as_decision_model=always(0.0)))) as client:
        leave = await client.options("/jobs/compact_context", headers=asking)
        refused = await client.get("/jobs", headers={"Origin": "https://app.example.org"})
        foreign = await client.get("/health", headers={"Host": "attacker.example"})
    assert leave.status_code == 200
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == "https://app.example.org"
    assert json.loads(refused.text)["code"] == "unauthorized"
    assert foreign.status_code == 421


HOSTILE = [
    (b"GET /jobs HTTP/1.1\r\nHost: localhost\r\n", 401),
    (b"GET /jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \xff\xfe\r\n", 401),
    (b"GET /jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer\r\n", 401),
    (b"GET /health/../jobs HTTP/1.1\r\nHost: localhost\r\n", 401),
    (b"GET /jobs?/health HTTP/1.1\r\nHost: localhost\r\n", 401),
    (b"GET /jobs#/health HTTP/1.1\r\nHost: localhost\r\n", 401),
    (b"GET /health%2f..%2fjobs HTTP/1.1\r\nHost: localhost\r\n", 401),
    (b"GET http://localhost/jobs HTTP/1.1\r\nHost: localhost\r\n", 401),
    (b"GET /health HTTP/1.1\r\nHost: localhost\r\n", 200),
    (b"GET /%68ealth HTTP/1.1\r\nHost: localhost\r\n", 200),
    (b"GET /health HTTP/1.1\r\nHost: attacker.example\r\n", 421),
    (b"GET http://localhost/health HTTP/1.1\r\nHost: attacker.example\r\n", 421),
    (b"GET /health HTTP/1.1\r\nHost: localhost\xff\r\n", 421),
    (b"GET /health HTTP/1.1\r\nHost:\r\n", 421),
    (b"GET /health HTTP/1.0\r\n", 421),
]


async def test_hostile_requests_to_a_real_server(serving: Serving) -> None:
    app = create_app(PRESET, CompactContextStep(as_decision_model=always(0.0)))
    answered = []
    with anyio.fail_after(60):
        async with serving(app) as port:
            for request, _ in HOSTILE:
                async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                    await stream.send(request + b"Connection: close\r\n\r\n")
                    answered.append((request, int((await stream.receive()).split()[1])))
    for (request, status), (_, expected) in zip(answered, HOSTILE, strict=True):
        # 400: the server itself refuses it as no HTTP, before it gets to us.
        assert (request, status) in {(request, expected), (request, 400)}
    assert sum(status == 400 for _, status in answered) <= 3
