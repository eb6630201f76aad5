"""Two service processes over one server are one service to their clients, also when one of them is killed."""

import contextlib
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from distributed_fixtures import Cluster, cluster
from histories import history, request_for
from load_service import ServiceProcess, service_process

pytestmark = pytest.mark.anyio

CALLS = 40
WINDOW = 4
SEEN_BEFORE_THE_KILL = 8
LATEST_START_SECONDS = 0.1


@dataclass
class Replicas:
    """Two services over one deployment, a client for each."""

    cluster: Cluster
    first: ServiceProcess
    at_first: httpx.AsyncClient
    at_second: httpx.AsyncClient


@dataclass(frozen=True)
class Event:
    """An event as a client sees it."""

    id: str
    type: str
    data: str


@asynccontextmanager
async def replicas(folder: Path) -> AsyncIterator[Replicas]:
    async with cluster(folder) as it:
        it.start_worker("jobs")
        it.start_worker("scores")
        with service_process(folder, it.arguments) as first, service_process(folder, it.arguments) as second:
            await it.until_ready()
            async with client_of(first) as at_first, client_of(second) as at_second:
                yield Replicas(it, first, at_first, at_second)


def client_of(service: ServiceProcess) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=service.url, timeout=30, trust_env=False)


def request(goal: str, calls: int = CALLS) -> dict[str, Any]:
    return request_for(history(calls), goal=goal, options={"max_state_tokens": 1500, "max_concurrency": WINDOW})


async def submitted(http: httpx.AsyncClient, asked: dict[str, Any], **headers: str) -> httpx.Response:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return await http.post("/jobs/compact_context", json=asked, headers=sent)


async def events_of(http: httpx.AsyncClient, job_id: str, after: str | None = None) -> AsyncIterator[Event]:
    """Yield the events that a service streams, up to the end of the stream."""
    headers = {} if after is None else {"Last-Event-ID": after}
    async with http.stream("GET", f"/jobs/{job_id}/events", headers=headers) as stream:
        assert stream.status_code == 200
        fields: dict[str, str] = {}
        async for line in stream.aiter_lines():
            name, _, value = line.partition(": ")
            if name:
                fields[name] = value
            elif "event" in fields:
                yield Event(fields["id"], fields["event"], fields["data"])
                fields = {}


async def test_a_stream_goes_on_at_another_replica_without_a_gap_or_a_repeat(tmp_path: Path) -> None:
    async with replicas(tmp_path) as it:
        model = it.cluster.model
        model.seconds = 0.02
        job_id = (await submitted(it.at_first, request("Fix the retries"))).json()["id"]
        seen: list[Event] = []
        with contextlib.suppress(httpx.TransportError):
            async for event in events_of(it.at_first, job_id):
                seen.append(event)
                if len(seen) == SEEN_BEFORE_THE_KILL:
                    model.gate.clear()  # so that the job cannot end before the client is back
                    it.first.kill()
        assert "finished" not in {event.type for event in seen}
        model.gate.set()
        rest = [event async for event in events_of(it.at_second, job_id, after=seen[-1].id)]

        whole = [event async for event in events_of(it.at_second, job_id)]
        assert seen + rest == whole
        assert len(seen) >= SEEN_BEFORE_THE_KILL
        assert it.first.process.returncode == -signal.SIGKILL
        assert [event.type for event in whole].count("batch_scored") == CALLS
        assert rest[-1].type == "finished"
        assert (await it.at_second.get(f"/jobs/{job_id}")).json()["status"] == "succeeded"


async def test_an_idempotency_key_means_the_same_job_at_every_replica(tmp_path: Path) -> None:
    async with replicas(tmp_path) as it:
        first = await submitted(it.at_first, request("Fix the retries", 2), Idempotency_Key="once")
        again = await submitted(it.at_second, request("Fix the retries", 2), Idempotency_Key="once")
        other = await submitted(it.at_second, request("Fix the cache", 2), Idempotency_Key="once")
        assert first.status_code == 202
        assert "Idempotency-Replayed" not in first.headers
        assert again.json()["id"] == first.json()["id"]
        assert again.headers["Idempotency-Replayed"] == "true"
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_conflict")
        assert [event.type async for event in events_of(it.at_second, first.json()["id"])][-1] == "finished"
        assert {call.goal for call in it.cluster.model.calls} == {"Fix the retries"}
        assert len(it.cluster.model.calls) == 2


async def test_a_job_of_one_replica_is_cancelled_at_the_other(tmp_path: Path) -> None:
    async with replicas(tmp_path) as it:
        model = it.cluster.model
        model.seconds = 0.03
        job_id = (await submitted(it.at_first, request("Fix the retries", 200))).json()["id"]
        await model.until_begun(2 * WINDOW)
        answer = await it.at_second.delete(f"/jobs/{job_id}")
        acknowledged_at = time.time()
        assert answer.json()["status"] == "cancelled"
        assert (await it.at_first.get(f"/jobs/{job_id}")).json()["status"] == "cancelled"
        # By the time that another job has been through the same queues, whatever was left of this one has come up.
        other_id = (await submitted(it.at_first, request("Fix the cache", 40))).json()["id"]
        assert [event.type async for event in events_of(it.at_second, other_id)][-1] == "finished"
        late = [
            call
            for call in model.calls
            if call.goal == "Fix the retries" and call.began > acknowledged_at + LATEST_START_SECONDS
        ]
        assert late == []
        assert sum(call.goal == "Fix the retries" for call in model.calls) < 200
