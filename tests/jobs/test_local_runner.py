"""Jobs on the service's own event loop: the suite of every runner, and what only this one promises."""

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from execution_models import SteeredModel, request_of
from models import always
from runner_suite import RunnerSuite, Running, entered

from reme_compact import BinaryAnswer, CompactContextStep, DecisionResponse
from reme_compact.contract.errors import JobExpiredError, JobNotFoundError, ServiceStoppingError
from reme_compact.jobs import local_runner
from reme_compact.jobs.clock import utc_now
from reme_compact.jobs.local_runner import LocalRunner
from reme_compact.jobs.memory_store import MemoryStore
from reme_compact.jobs.observation import NoObserver
from reme_compact.jobs.store import StoreLimits, Sweep
from reme_compact.presets.schema import ExecutionSettings

pytestmark = pytest.mark.anyio


class Sweeps(NoObserver):
    """Tells when the store was looked through."""

    def __init__(self) -> None:
        self.seen: asyncio.Queue[Sweep] = asyncio.Queue()

    def swept(self, sweep: Sweep) -> None:
        self.seen.put_nowait(sweep)


@asynccontextmanager
async def local(model: Any, observer: NoObserver | None = None, **settings: Any) -> AsyncIterator[Running]:
    execution = ExecutionSettings(**settings)
    store = MemoryStore(
        StoreLimits(
            execution.max_active_jobs,
            execution.max_stored_bytes,
            execution.results_expire_after_seconds,
            lease_seconds=math.inf,
        )
    )
    compactor = CompactContextStep(as_decision_model=model).compactor
    async with entered(store, LocalRunner(store, compactor, execution, observer=observer or NoObserver())) as running:
        yield running


def runner_of(running: Running) -> LocalRunner:
    assert isinstance(running.runner, LocalRunner)
    return running.runner


class TestLocalRunner(RunnerSuite):
    def running(self, model: Any) -> AbstractAsyncContextManager[Running]:
        return local(model)


async def test_so_many_jobs_run_at_once_and_the_first_come_is_the_next() -> None:
    model = SteeredModel()
    async with local(model, max_running_jobs=2) as running:
        jobs = [await running.submit(request_of(1)) for _ in range(5)]
        for started in range(2, 5):
            await model.until_started(started)
            assert model.running == 2
            assert await running.runner.waiting() == 5 - started
            statuses = [(await running.store.get(job, None)).status for job in jobs]
            assert [status == "queued" for status in statuses] == [False] * started + [True] * (5 - started)
            # Either of the two may have asked first and is answered now.
            model.allow(1)
        model.allow(5)
        for job in jobs:
            assert (await running.end_of(job)).status == "succeeded"
    assert model.most_running == 2


async def test_a_job_that_waits_too_long_is_timed_out_without_anybody_asking() -> None:
    model = SteeredModel()
    async with local(model, max_running_jobs=1) as running:
        blocking = await running.submit(request_of(1))
        await model.until_started(1)
        late = await running.submit(request_of(1), start_within_seconds=0.4)
        sooner = await running.submit(request_of(1), start_within_seconds=0.1)
        for job in (sooner, late):
            document = await running.end_of(job)
            assert document.status == "timed_out"
            assert document.error is not None
            assert document.error.code == "start_timeout"
        ended = [(await running.store.get(job, None)).finished_at for job in (sooner, late)]
        assert None not in ended
        assert ended == sorted(ended)  # type: ignore[type-var]
        model.allow(1)
        assert (await running.end_of(blocking)).status == "succeeded"
    assert model.started == 1


async def test_a_cancelled_job_gives_its_place_to_the_next() -> None:
    model = SteeredModel()
    async with local(model, max_running_jobs=1) as running:
        first, second, third = [await running.submit(request_of(1)) for _ in range(3)]
        await model.until_started(1)
        await running.store.cancel(second, None)
        await running.store.cancel(first, None)
        await model.until_started(2)
        model.allow(1)
        assert (await running.end_of(third)).status == "succeeded"
    assert model.started == 2


async def test_leaving_ends_every_job_as_stopped() -> None:
    model = SteeredModel()
    async with local(model, max_running_jobs=1) as running:
        runs, waits = await running.submit(request_of(4)), await running.submit(request_of(4))
        await model.until_started(2)
        watching = asyncio.create_task(running.end_of(waits))
        await asyncio.sleep(0)
    assert (model.started, model.running, model.cancelled) == (2, 0, 2)
    for job in (runs, waits):
        document = await running.store.get(job, None)
        assert document.status == "failed"
        assert document.error is not None
        assert document.error.model_dump() == ServiceStoppingError().fields()
        assert document.error.retryable
    assert (await watching).status == "failed"
    with pytest.raises(ServiceStoppingError):
        await running.runner.submit(waits, utc_now())


async def test_a_job_that_will_not_end_does_not_keep_the_service(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(local_runner, "_LETTING_GO_SECONDS", 0.05)
    asked, released, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stubborn(state: Any, questions: Any) -> DecisionResponse:
        asked.set()
        while not released.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await released.wait()
        ended.set()
        return DecisionResponse({name: BinaryAnswer(0.0) for name in questions})

    async with local(stubborn) as running:
        job = await running.submit(request_of(1))
        await asked.wait()
    assert (await running.store.get(job, None)).status == "failed"
    assert "abandoned" in caplog.text
    released.set()
    await ended.wait()


async def test_nothing_is_run_before_the_runner_is_entered() -> None:
    store = MemoryStore(StoreLimits(10, 10**9, 60, math.inf))
    runner = LocalRunner(store, CompactContextStep(as_decision_model=always(0.0)).compactor, ExecutionSettings())
    with pytest.raises(ServiceStoppingError):
        await runner.submit("x", utc_now())


async def test_results_are_removed_in_time_without_anybody_asking() -> None:
    sweeps = Sweeps()
    async with local(always(0.0), sweeps, results_expire_after_seconds=0.2) as running:
        job = await running.submit(request_of(1))
        await running.end_of(job)
        async with asyncio.timeout(20):
            while (await running.store.figures()).stored_bytes:
                await sweeps.seen.get()
        assert (await running.store.figures()).jobs["succeeded"] == 0
        with pytest.raises((JobExpiredError, JobNotFoundError)):
            await running.store.get(job, None)


async def test_cancelled_jobs_do_not_pile_up_in_the_queue() -> None:
    model = SteeredModel()
    async with local(model, max_running_jobs=1, max_active_jobs=3) as running:
        blocking = await running.submit(request_of(1))
        await model.until_started(1)
        for _ in range(30):
            await running.store.cancel(await running.submit(request_of(1)), None)
        assert len(runner_of(running)._queue) <= 6
        last = await running.submit(request_of(1))
        model.allow(2)
        for job in (blocking, last):
            assert (await running.end_of(job)).status == "succeeded"


async def test_queued_jobs_that_were_cancelled_do_not_keep_the_sweeper_awake() -> None:
    model, sweeps = SteeredModel(), Sweeps()
    async with local(model, sweeps, max_running_jobs=1) as running:
        await running.submit(request_of(1))
        await model.until_started(1)
        cancelled = await running.submit(request_of(1), start_within_seconds=0.1)
        await running.store.cancel(cancelled, None)
        await sweeps.seen.get()
        late = await running.submit(request_of(1), start_within_seconds=0.1)
        assert (await running.end_of(late)).status == "timed_out"
        assert not runner_of(running)._queue
        assert sweeps.seen.qsize() <= 5


async def test_a_job_whose_task_was_lost_is_run_again() -> None:
    model, sweeps = SteeredModel(), Sweeps()
    async with local(model, sweeps, results_expire_after_seconds=0.1) as running:
        job = await running.submit(request_of(1))
        await model.until_started(1)
        runner_of(running)._running[job].cancel()
        await model.until_started(2)
        model.allow(1)
        await running.until(job, "finished")


async def test_a_fault_of_ours_ends_one_job_and_not_the_runner(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("secret message content")

    async with local(always(0.0), max_running_jobs=1) as running:
        with monkeypatch.context() as patch:
            patch.setattr(local_runner, "execute", broken)
            document = await running.end_of(await running.submit(request_of(1)))
        assert document.error is not None
        assert (document.status, document.error.code) == ("failed", "internal_error")
        assert "RuntimeError at" in caplog.text
        assert "secret" not in caplog.text + document.error.message
        assert (await running.end_of(await running.submit(request_of(1)))).status == "succeeded"


async def test_nothing_grows_with_the_jobs_that_are_done() -> None:
    async with local(always(0.0)) as running:
        for _ in range(30):
            job = await running.submit(request_of(1))
            await running.end_of(job)
            await running.store.forget(job)
        assert len(runner_of(running)._queue) + len(runner_of(running)._running) <= 1
        assert (await running.store.figures()).stored_bytes == 0


async def test_a_start_limit_beyond_the_calendar_is_no_trouble() -> None:
    async with local(SteeredModel(), max_running_jobs=1) as running:
        await running.submit(request_of(1))
        waiting = await running.submit(request_of(1), start_within_seconds=1e300)
        document = await running.store.get(waiting, None)
        assert document.status == "queued"
        assert document.created_at - utc_now() < timedelta(seconds=1)
