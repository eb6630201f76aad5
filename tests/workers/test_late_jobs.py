"""A proposal that somebody waits for is made in time, although no slot of any worker is free, or none lives."""

import anyio
import orjson
import pytest
from execution_models import SteeredModel, body_of, request_of
from queue_stand_ins import deployed
from reme_workers.sweeper import Sweeper

from reme_compact.jobs.clock import utc_now
from reme_compact.jobs.identity import new_job_id
from reme_compact.jobs.record import NewJob
from reme_compact.jobs.store import JobStore
from reme_compact.jobs.waiting import wait_until_final

pytestmark = pytest.mark.anyio

SECONDS = 0.1


async def accepted(store: JobStore, start_within_seconds: float) -> str:
    """Record a job whose message nobody takes; its time runs."""
    request = request_of(3, total_timeout_seconds=SECONDS)
    job = NewJob(
        new_job_id(utc_now()),
        "compact_context",
        "anna",
        request,
        body_of(request),
        start_within_seconds,
        runs_from_acceptance=True,
    )
    await store.create(job)
    return job.id


async def test_a_jobs_worker_makes_it_beside_its_slots() -> None:
    model = SteeredModel()
    async with deployed(model) as it, anyio.create_task_group() as tasks:
        jobs = it.delivery.jobs
        assert jobs is not None

        def run_late(job_id: str) -> None:
            tasks.start_soon(jobs.run_late, job_id)

        tasks.start_soon(Sweeper(it.store, it.delivery, run_late=run_late).run)
        job_id = await accepted(it.store, 60)
        document = await wait_until_final(it.store, job_id, "anna", 30)
        assert document.status == "succeeded"
        answer = orjson.loads(b"".join(await it.store.result(job_id, "anna")))["answer"]
        assert [decision["reason"] for decision in answer["decisions"]] == ["timeout"] * 3
        assert document.started_at is not None
        assert (document.started_at - document.created_at).total_seconds() >= SECONDS
        tasks.cancel_scope.cancel()
    assert model.started == 0


async def test_many_sweeps_run_it_once() -> None:
    async with deployed(SteeredModel()) as it, anyio.create_task_group() as tasks:
        jobs = it.delivery.jobs
        assert jobs is not None
        job_id = await accepted(it.store, 60)
        for _ in range(5):
            tasks.start_soon(jobs.run_late, job_id)
        assert (await wait_until_final(it.store, job_id, "anna", 30)).status == "succeeded"
        started = [event.data async for event in it.store.events(job_id, "anna", None) if event.type == "started"]
        assert started == [{"attempt": 1}]


async def test_without_a_worker_it_times_out_soon() -> None:
    async with deployed(SteeredModel(), live=()) as it, anyio.create_task_group() as tasks:
        tasks.start_soon(Sweeper(it.store, it.delivery).run)
        document = await wait_until_final(it.store, await accepted(it.store, 2 * SECONDS), "anna", 30)
        assert document.status == "timed_out"
        assert document.error is not None
        assert document.error.code == "start_timeout"
        tasks.cancel_scope.cancel()
