"""The same request sent twice under one `Idempotency-Key` is one job."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import httpx
import pytest
from fastapi import FastAPI
from models import HangingModel, ScriptedModel, always

from reme_compact.compaction.step import CompactContextStep
from reme_compact.service.app import create_app

pytestmark = pytest.mark.anyio

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]
PATHS = pytest.mark.parametrize("path", ["/jobs/compact_context", "/compact_context"])
KEY = {"Idempotency-Key": "turn-17"}


@pytest.fixture
def model() -> ScriptedModel:
    return always(0.0)


@pytest.fixture
async def client(connect: Connect, model: ScriptedModel) -> AsyncIterator[httpx.AsyncClient]:
    async with connect(create_app(step=CompactContextStep(as_decision_model=model))) as open_client:
        yield open_client


async def jobs_of(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get("/jobs")).json()["jobs"]
    return found


@PATHS
async def test_the_same_request_is_done_once(
    client: httpx.AsyncClient, model: ScriptedModel, shrinkable: dict[str, Any], path: str
) -> None:
    headers = KEY | {"Prefer": "wait=30"}
    first, second = [await client.post(path, json=shrinkable, headers=headers) for _ in range(2)]
    assert first.status_code == second.status_code == 200
    assert "idempotency-replayed" not in first.headers
    assert second.headers["idempotency-replayed"] == "true"
    assert second.content == first.content
    assert len(model.states) == 1
    assert len(await jobs_of(client)) == 1


async def test_a_job_and_a_call_that_waits_are_the_same_request(
    client: httpx.AsyncClient, model: ScriptedModel, shrinkable: dict[str, Any]
) -> None:
    job = (await client.post("/jobs/compact_context", json=shrinkable, headers=KEY)).json()
    waited_for = await client.post("/compact_context", json=shrinkable, headers=KEY)
    assert waited_for.content == (await client.get(f"/jobs/{job['id']}/result")).content
    assert len(model.states) == 1


@PATHS
async def test_another_request_under_the_same_key_is_refused(
    client: httpx.AsyncClient, shrinkable: dict[str, Any], path: str
) -> None:
    await client.post(path, json=shrinkable, headers=KEY)
    answer = await client.post(path, json=shrinkable | {"goal": "Something else"}, headers=KEY)
    assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_conflict")
    assert len(await jobs_of(client)) == 1


async def test_many_at_once_are_one_job(
    client: httpx.AsyncClient, model: ScriptedModel, shrinkable: dict[str, Any]
) -> None:
    answers: list[httpx.Response] = []

    async def post(path: str) -> None:
        answers.append(await client.post(path, json=shrinkable, headers=KEY))

    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(post, "/compact_context" if number % 2 else "/jobs/compact_context")
    assert {answer.status_code for answer in answers} <= {200, 202}
    assert len(model.states) == 1
    assert len(await jobs_of(client)) == 1
    assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1


async def test_a_repeated_request_gets_the_job_as_it_is_now(connect: Connect, shrinkable: dict[str, Any]) -> None:
    async with connect(create_app(step=CompactContextStep(as_decision_model=HangingModel()))) as client:
        job = (await client.post("/jobs/compact_context", json=shrinkable, headers=KEY)).json()
        await client.delete(f"/jobs/{job['id']}")
        again = await client.post("/jobs/compact_context", json=shrinkable, headers=KEY)
        waited_for = await client.post("/compact_context", json=shrinkable, headers=KEY)
    assert (again.status_code, again.json()["status"]) == (200, "cancelled")
    assert (waited_for.status_code, waited_for.json()["code"]) == (409, "job_cancelled")


@PATHS
@pytest.mark.parametrize("key", ["", "two words", "x" * 256, "naïve", "tab\tbed"])
async def test_a_key_that_is_none_is_422(
    client: httpx.AsyncClient, shrinkable: dict[str, Any], path: str, key: str
) -> None:
    answer = await client.post(path, json=shrinkable, headers=[("Idempotency-Key", key.encode("latin-1"))])  # type: ignore[arg-type]
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert [problem["path"] for problem in answer.json()["problems"]] == ["header.Idempotency-Key"]
    assert await jobs_of(client) == []


async def test_two_keys_at_once_are_422(client: httpx.AsyncClient, shrinkable: dict[str, Any]) -> None:
    headers = [("Idempotency-Key", "one"), ("Idempotency-Key", "two")]
    assert (await client.post("/compact_context", json=shrinkable, headers=headers)).status_code == 422


@pytest.mark.parametrize("key", ["!", "~" * 255, "4f1c2b11-0a8f"])
async def test_any_visible_ascii_is_a_key(client: httpx.AsyncClient, shrinkable: dict[str, Any], key: str) -> None:
    answer = await client.post("/compact_context", json=shrinkable, headers={"Idempotency-Key": key})
    assert answer.status_code == 200
