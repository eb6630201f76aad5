"""Many jobs at once: what is accepted succeeds, once; what is too much is refused; and nothing piles up."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
from distributed_fixtures import CountingServer, cluster
from load_clients import Load, call_of, client, goal_of, listed_ids, most_active, tiny_request
from load_service import counting_server, resident_bytes, service_process
from reme_workers.worker_arguments import PresetArguments

pytestmark = pytest.mark.anyio

Kind = Literal["embedded", "distributed"]

JOBS = 500
CLIENTS = 20
MOST_ACTIVE = 60
SMALL_GROWTH = 8 * 1024**2
FULL_AT = 8
LARGE_CHARS = 100_000
SUBMISSIONS_TO_A_FULL_SERVICE = 240


@dataclass
class Deployment:
    """A service under load, and every process of it that holds jobs."""

    url: str
    model: CountingServer
    process_ids: list[int]

    def resident_bytes(self) -> list[int]:
        return [resident_bytes(process_id) for process_id in self.process_ids]


@asynccontextmanager
async def deployed(kind: Kind, folder: Path, **overrides: str) -> AsyncIterator[Deployment]:
    if kind == "embedded":
        settings = {name.replace("__", "."): value for name, value in overrides.items()}
        async with counting_server(folder) as model:
            with service_process(folder, PresetArguments("decision_compaction", settings)) as service:
                yield Deployment(service.url, model, [service.process.pid])
        return
    async with cluster(folder, appendonly=False, **overrides) as it:
        workers = [it.start_worker("jobs"), it.start_worker("scores", concurrency=16)]
        with service_process(folder, it.arguments) as service:
            await it.until_ready()
            processes = [service.process.pid, *(worker.process.pid for worker in workers)]
            yield Deployment(service.url, it.model, processes)


@contextmanager
def closed_gate(model: CountingServer) -> Iterator[None]:
    """Keep the decision model from answering."""
    model.gate.clear()
    try:
        yield
    finally:
        model.gate.set()


@pytest.mark.parametrize("kind", ["embedded", "distributed"])
async def test_every_accepted_job_of_many_clients_succeeds_once(tmp_path: Path, kind: Kind) -> None:
    async with deployed(kind, tmp_path, execution__max_active_jobs=str(MOST_ACTIVE)) as it:
        load = Load()
        async with asyncio.TaskGroup() as clients:
            with closed_gate(it.model):
                for first in range(CLIENTS):
                    clients.create_task(client(it.url, range(first, JOBS, CLIENTS), load))
                await load.until(lambda load: len(load.refusals) >= CLIENTS and len(load.accepted) >= MOST_ACTIVE)
                assert len(load.accepted) == MOST_ACTIVE
            await load.until(lambda load: len(load.accepted) >= JOBS // 2)
            at_half = it.resident_bytes()
        at_end = it.resident_bytes()

        assert set(load.accepted) == set(load.documents) == set(range(JOBS))
        assert {document["status"] for document in load.documents.values()} == {"succeeded"}
        assert all(decided(answer) == [call_of(number)] for number, answer in load.answers.items())
        assert len(set(load.accepted.values())) == JOBS
        assert sorted(await listed_ids(it.url)) == sorted(load.accepted.values())
        assert sorted(call.goal for call in it.model.calls) == sorted(map(goal_of, range(JOBS)))
        assert most_active(load.documents.values()) <= MOST_ACTIVE
        assert {status for status, _ in load.refusals} == {503}
        for before, after in zip(at_half, at_end, strict=True):
            assert after - before <= load.result_bytes + SMALL_GROWTH


@pytest.mark.parametrize("kind", ["embedded", "distributed"])
async def test_a_full_service_refuses_clearly_and_does_not_grow(tmp_path: Path, kind: Kind) -> None:
    owners = {"one": "3", "other": str(2 * FULL_AT)}
    keys = {f"service__api_keys__{name}__sha256": hashlib.sha256(name.encode()).hexdigest() for name in owners}
    limits = {f"service__api_keys__{name}__max_active_jobs": limit for name, limit in owners.items()}
    async with (
        deployed(kind, tmp_path, execution__max_active_jobs=str(FULL_AT), **keys, **limits) as it,
        authorized(it.url, "one") as one,
        authorized(it.url, "other") as other,
    ):
        with closed_gate(it.model):
            accepted = await fill(one, 0, 3)
            await refused_without_growth(it, one, 429, "too_many_jobs")
            accepted += await fill(other, 3, FULL_AT - 3)
            await refused_without_growth(it, other, 503, "too_busy")
        for http, ids in ((one, accepted[:3]), (other, accepted[3:])):
            for job_id in ids:
                assert await end_of(http, job_id) == "succeeded"
            assert await listed_ids(it.url, dict(http.headers)) == ids[::-1]
        assert len(it.model.calls) == FULL_AT


def authorized(url: str, key: str) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.AsyncClient(base_url=url, timeout=60, trust_env=False, headers=headers)


def decided(answer: dict[str, Any]) -> list[str]:
    return [decision["call_id"] for decision in answer["decisions"]]


async def fill(http: httpx.AsyncClient, first: int, count: int) -> list[str]:
    """Submit requests that are accepted, and return the jobs' ids."""
    responses = [
        await http.post("/jobs/compact_context", json=tiny_request(first + number, total_timeout_seconds=300))
        for number in range(count)
    ]
    assert [response.status_code for response in responses] == [202] * count
    return [response.json()["id"] for response in responses]


async def refused_without_growth(it: Deployment, http: httpx.AsyncClient, status: int, code: str) -> None:
    """Submit many large requests from many clients, all of which are refused."""
    await refused_at_once(http, status, code)
    before = it.resident_bytes()
    for _ in range(SUBMISSIONS_TO_A_FULL_SERVICE // CLIENTS):
        await refused_at_once(http, status, code)
    for was, now in zip(before, it.resident_bytes(), strict=True):
        assert now - was <= SMALL_GROWTH


async def refused_at_once(http: httpx.AsyncClient, status: int, code: str) -> None:
    async with asyncio.TaskGroup() as clients:
        for _ in range(CLIENTS):
            clients.create_task(refused(http, status, code))


async def refused(http: httpx.AsyncClient, status: int, code: str) -> None:
    """Submit a large request that is refused with the four fields and a time to come back."""
    asked = tiny_request(1000)
    asked["messages"][1]["content"][1]["output"] = "x" * LARGE_CHARS
    response = await http.post("/jobs/compact_context", json=asked)
    assert response.status_code == status, response.text
    assert float(response.headers["Retry-After"]) > 0
    problem = response.json()
    assert problem["code"] == code
    assert problem["retryable"] is True
    assert problem["error"]
    assert problem["message"]


async def end_of(http: httpx.AsyncClient, job_id: str) -> str:
    """Wait for the end of a job and return its status."""
    async with http.stream("GET", f"/jobs/{job_id}/events") as events:
        async for _ in events.aiter_bytes():
            pass  # it ends with the job
    status: str = (await http.get(f"/jobs/{job_id}")).json()["status"]
    return status
