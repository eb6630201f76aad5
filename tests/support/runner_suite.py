"""The conformance suite of `Runner`: every runner passes all of it, over the store it belongs to.

Subclass it in a test module and say how to bring up a store and a runner over a decision model.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
import pytest
from execution_models import SteeredModel, body_of, request_of
from models import always, by_hash

from reme_compact import CompactContextStep, CompactionRequest
from reme_compact.contract.errors import ReMeError
from reme_compact.contract.job import JobDocument
from reme_compact.jobs.clock import utc_now
from reme_compact.jobs.identity import new_job_id
from reme_compact.jobs.record import NewJob
from reme_compact.jobs.runner import Runner
from reme_compact.jobs.store import JobStore
from reme_compact.jobs.waiting import wait_until_final


@dataclass(frozen=True, slots=True)
class Running:
    """A store and a runner that was entered."""

    store: JobStore
    runner: Runner

    async def create(self, request: CompactionRequest, start_within_seconds: float = 60) -> tuple[str, datetime]:
        """Record a job without having it run."""
        job = NewJob(new_job_id(utc_now()), "compact_context", "anna", request, body_of(request), start_within_seconds)
        accepted = await self.store.create(job)
        return job.id, accepted.start_before

    async def submit(self, request: CompactionRequest, start_within_seconds: float = 60) -> str:
        """Record a job and have it run."""
        job_id, start_before = await self.create(request, start_within_seconds)
        await self.runner.submit(job_id, start_before)
        return job_id

    async def end_of(self, job_id: str) -> JobDocument:
        """Wait for the end of a job."""
        document = await wait_until_final(self.store, job_id, None, 30)
        assert document.is_final
        return document

    async def answer(self, job_id: str) -> dict[str, Any]:
        """Return the proposal of a job that succeeded."""
        return dict(orjson.loads(b"".join(await self.store.result(job_id, None)))["answer"])

    async def until(self, job_id: str, event_type: str) -> None:
        """Wait until something has happened to a job."""
        async with asyncio.timeout(30):
            async for event in self.store.events(job_id, None, None):
                if event.type == event_type:
                    return
        raise AssertionError(f"The job ended without {event_type}.")


class RunnerSuite:
    """What becomes of submitted jobs."""

    pytestmark = pytest.mark.anyio

    def running(self, model: Any) -> AbstractAsyncContextManager[Running]:
        """Bring up a store and a runner that asks a decision model, and take them down again."""
        raise NotImplementedError

    async def test_a_submitted_job_brings_the_proposal_that_the_step_brings(self) -> None:
        request = request_of(12)
        async with self.running(by_hash()) as running:
            job_id = await running.submit(request)
            assert (await running.end_of(job_id)).status == "succeeded"
            answer = await running.answer(job_id)
        direct = (await CompactContextStep(as_decision_model=by_hash()).run(request)).answer
        assert answer["messages"] == direct["messages"]
        assert answer["decisions"] == direct["decisions"]
        assert answer["stats"]["requests"] == direct["stats"]["requests"] == 12

    async def test_many_jobs_at_once_all_succeed(self) -> None:
        async with self.running(always(0.0)) as running:
            jobs = [await running.submit(request_of(3)) for _ in range(20)]
            for job_id in jobs:
                assert (await running.end_of(job_id)).status == "succeeded"
            figures = await running.store.figures()
            assert figures.jobs["succeeded"] == 20
            assert await running.runner.waiting() == 0

    async def test_a_job_that_is_submitted_twice_is_run_once(self) -> None:
        model = SteeredModel()
        async with self.running(model) as running:
            job_id, start_before = await running.create(request_of(2))
            for _ in range(3):
                await running.runner.submit(job_id, start_before)
            await model.until_started(2)
            await running.runner.submit(job_id, start_before)
            model.allow(10)
            assert (await running.end_of(job_id)).status == "succeeded"
            await running.runner.submit(job_id, start_before)
            second = await running.submit(request_of(1))
            await running.end_of(second)
        assert model.started == 3

    async def test_what_cannot_be_run_does_not_disturb_the_others(self) -> None:
        async with self.running(always(0.0)) as running:
            await running.runner.submit(new_job_id(utc_now()), utc_now())
            cancelled, start_before = await running.create(request_of(1))
            await running.store.cancel(cancelled, "anna")
            await running.runner.submit(cancelled, start_before)
            job_id = await running.submit(request_of(1))
            assert (await running.end_of(job_id)).status == "succeeded"
            assert (await running.store.get(cancelled, "anna")).status == "cancelled"

    async def test_a_failure_is_the_jobs_error(self) -> None:
        values = request_of(1).model_dump() | {"token_counter": "nowhere"}
        async with self.running(always(0.0)) as running:
            document = await running.end_of(await running.submit(CompactionRequest.parse(values)))
        assert document.status == "failed"
        assert document.error is not None
        assert document.error.code == "invalid_request"

    async def test_a_cancelled_job_asks_nothing_more_and_others_go_on(self) -> None:
        model = SteeredModel()
        async with self.running(model) as running:
            job_id = await running.submit(request_of(8))
            await model.until_started(2)
            assert (await running.store.cancel(job_id, "anna")).status == "cancelled"
            model.allow(100)
            other = await running.submit(request_of(2))
            assert (await running.end_of(other)).status == "succeeded"
            assert model.started == 4
            with pytest.raises(ReMeError):
                await running.store.result(job_id, "anna")

    async def test_time_over_ends_in_a_proposal_from_what_came(self) -> None:
        model = SteeredModel(allowed=1)
        async with self.running(model) as running:
            job_id = await running.submit(request_of(3, total_timeout_seconds=1))
            assert (await running.end_of(job_id)).status == "succeeded"
            reasons = [decision["reason"] for decision in (await running.answer(job_id))["decisions"]]
        assert sorted(reasons) == ["low_relevance", "timeout", "timeout"]

    async def test_while_everything_is_there_nothing_is_missing(self) -> None:
        async with self.running(always(0.0)) as running:
            assert await running.runner.missing() == []


@asynccontextmanager
async def entered(store: JobStore, runner: Runner) -> AsyncIterator[Running]:
    """Have a runner run meanwhile, and close the store afterwards."""
    async with runner:
        yield Running(store, runner)
    await store.aclose()
