"""Jobs run by workers: the suite of every runner, in one process, and what the sweep puts back into the queue."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import fakeredis
import pytest
from execution_models import SteeredModel, request_of
from models import always
from queue_stand_ins import Deployed, deployed
from reme_workers.runner import CeleryRunner
from reme_workers.worker_arguments import ROLES, Role
from runner_suite import RunnerSuite, Running

from reme_compact.contract.errors import DecisionModelError

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def celery(model: Any, live: Sequence[Role] = ROLES) -> AsyncIterator[tuple[Running, Deployed]]:
    async with deployed(model, live=live) as it:
        runner = CeleryRunner(it.store, it.delivery, needs_scores_worker=True)
        it.store.has_jobs_worker = runner.has_jobs_worker
        async with runner:
            yield Running(it.store, runner), it


class TestCeleryRunner(RunnerSuite):
    def running(self, model: Any) -> AbstractAsyncContextManager[Running]:
        return self._running(model)

    @asynccontextmanager
    async def _running(self, model: Any) -> AsyncIterator[Running]:
        async with celery(model) as (running, _):
            while await running.runner.missing():  # noqa: ASYNC110 - a heart takes a moment to beat
                await asyncio.sleep(0.01)
            yield running


async def test_a_job_whose_message_is_lost_is_found() -> None:
    async with celery(always(0.0)) as (running, _):
        job_id, _ = await running.create(request_of(2))
        assert (await running.end_of(job_id)).status == "succeeded"


@pytest.mark.parametrize(
    ("live", "missing"),
    [((), ["jobs_worker", "scores_worker"]), (("scores",), ["jobs_worker"]), (("jobs",), ["scores_worker"])],
)
async def test_it_says_which_workers_are_missing(live: Sequence[Role], missing: list[str]) -> None:
    async with celery(always(0.0), live) as (running, _):
        async with asyncio.timeout(10):
            while len(found := await running.runner.missing()) != len(missing):  # noqa: ASYNC110 - hearts beat when they do
                await asyncio.sleep(0.01)
        assert [part.part for part in found] == missing


async def test_a_queued_job_says_that_no_worker_is_there() -> None:
    async with celery(always(0.0), ("scores",)) as (running, _):
        job_id, _ = await running.create(request_of(1))
        assert (await running.store.get(job_id, None)).waiting_for == "worker"


async def test_a_decision_model_that_fails_is_missing() -> None:
    async def refuse(state: Any, questions: Any) -> Any:
        raise DecisionModelError("The key is wrong.", code="authentication_failed", fatal=True)

    async with celery(refuse) as (running, _):
        assert (await running.end_of(await running.submit(request_of(1)))).status == "succeeded"
        missing = await running.runner.missing()
        assert [(part.part, part.message) for part in missing] == [("decision_model", "The key is wrong.")]


async def test_a_server_that_does_not_answer_is_missing() -> None:
    server = fakeredis.FakeServer()
    async with celery(SteeredModel()) as (_, it):
        it.store.client.connection_pool.connection_kwargs["server"] = server
        server.connected = False
        runner = CeleryRunner(it.store, it.delivery, needs_scores_worker=True)
        await it.store.client.connection_pool.disconnect()
        assert [part.part for part in await runner.missing()] == ["store"]
        assert await runner.waiting() is None
