"""A job is accepted and handed over, or nothing of it stays."""

import asyncio
from datetime import datetime
from typing import Any

import orjson
import pytest
from anyio import create_task_group
from execution_models import SteeredModel, body_of, request_of
from models import always

from reme_compact import CompactContextStep, InvalidRequestError
from reme_compact.contract.errors import IdempotencyConflictError, StoreUnavailableError, TooManyJobsError
from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.health import LastRequest
from reme_compact.jobs.deployment import Deployment, EmbeddedDeployment
from reme_compact.jobs.identity import is_job_id
from reme_compact.jobs.intake import accept
from reme_compact.jobs.memory_store import MemoryStore
from reme_compact.jobs.record import Accepted
from reme_compact.jobs.runner import MissingPart
from reme_compact.jobs.store import JobStore, StoreLimits
from reme_compact.jobs.waiting import wait_until_final
from reme_compact.presets.schema import ExecutionSettings, Preset

pytestmark = pytest.mark.anyio


def embedded(model: Any = None, **execution: Any) -> EmbeddedDeployment:
    step = CompactContextStep(as_decision_model=model or always(0.0))
    return EmbeddedDeployment(Preset(execution=ExecutionSettings(**execution)), step)


async def submit(
    deployment: Deployment, settings: ExecutionSettings | None = None, *, seconds: float = 30, **fields: Any
) -> Accepted:
    request = request_of(1, total_timeout_seconds=seconds)
    return await accept(
        deployment,
        settings or ExecutionSettings(),
        **{"job": "compact_context", "owner": "anna", "request": request, "body": body_of(request), **fields},
    )


class Refusing:
    """A deployment whose queue cannot be reached."""

    def __init__(self, store: JobStore) -> None:
        self.store = store
        self.runner = self
        self.archive = None
        self.submitted = 0

    async def __aenter__(self) -> "Refusing":
        return self

    async def __aexit__(self, *error: object) -> None:
        pass

    async def submit(self, job_id: str, start_before: datetime) -> None:
        self.submitted += 1
        raise StoreUnavailableError("The queue cannot be reached.")

    def check_request(self, request: CompactionRequest) -> None:
        pass

    async def missing(self) -> list[MissingPart]:
        return []

    async def waiting(self) -> int | None:
        return None

    async def last_decision_request(self) -> LastRequest | None:
        return None

    def describe_decision_model(self) -> dict[str, str | None]:
        return {}


def memory_store() -> MemoryStore:
    return MemoryStore(StoreLimits(10, 10**9, 60, 60))


async def test_an_accepted_job_is_run() -> None:
    async with embedded() as deployment:
        accepted = await submit(deployment)
        assert accepted.is_new
        assert is_job_id(accepted.document.id)
        document = await wait_until_final(deployment.store, accepted.document.id, "anna", 30)
        assert (document.status, document.job) == ("succeeded", "compact_context")


async def test_a_repeated_key_is_the_same_job_and_runs_once() -> None:
    model = SteeredModel(allowed=9)
    async with embedded(model) as deployment:
        answers = await asyncio.gather(*(submit(deployment, idempotency_key="k") for _ in range(5)))
        assert len({answer.document.id for answer in answers}) == 1
        await wait_until_final(deployment.store, answers[0].document.id, "anna", 30)
        with pytest.raises(IdempotencyConflictError):
            await submit(deployment, idempotency_key="k", seconds=29)
    assert model.started == 1


async def test_the_limit_of_an_owner_is_passed_on() -> None:
    async with embedded(SteeredModel()) as deployment:
        await submit(deployment, max_active_of_owner=1)
        with pytest.raises(TooManyJobsError):
            await submit(deployment, max_active_of_owner=1)


async def test_the_wait_for_the_start_is_the_settings_or_shorter() -> None:
    settings = ExecutionSettings(start_within_seconds=100)
    async with embedded(SteeredModel()) as deployment:
        for asked, expected in ((None, 100), (7.5, 7.5), (100, 100)):
            accepted = await submit(deployment, settings, start_within_seconds=asked)
            waits = (accepted.start_before - accepted.document.created_at).total_seconds()
            assert waits == pytest.approx(expected)


async def test_who_waits_for_a_proposal_need_not_wait_much_longer_than_asked() -> None:
    settings = ExecutionSettings(start_within_seconds=100)
    async with embedded(SteeredModel()) as deployment:
        for seconds, expected in ((7, 9), (200, 100)):
            accepted = await submit(deployment, settings, seconds=seconds, runs_from_acceptance=True)
            waits = (accepted.start_before - accepted.document.created_at).total_seconds()
            assert waits == pytest.approx(expected)


async def test_a_proposal_is_made_in_time_also_when_every_place_is_taken() -> None:
    """A place never gets free here, and nothing is asked for the second job."""
    model = SteeredModel()
    async with embedded(model, max_running_jobs=1) as deployment:
        first = await submit(deployment)
        await model.until_started(1)
        second = await submit(deployment, seconds=0.2, runs_from_acceptance=True)
        third = await submit(deployment)
        document = await wait_until_final(deployment.store, second.document.id, "anna", 30)
        assert document.status == "succeeded"
        answer = orjson.loads(b"".join(await deployment.store.result(second.document.id, "anna")))["answer"]
        assert [decision["reason"] for decision in answer["decisions"]] == ["timeout"]
        assert document.started_at is not None
        assert (document.started_at - document.created_at).total_seconds() >= 0.2
        statuses = [(await deployment.store.get(job.document.id, "anna")).status for job in (first, third)]
        assert statuses == ["running", "queued"]
        assert model.started == 1
        model.allow(2)
        for job in (first, third):
            assert (await wait_until_final(deployment.store, job.document.id, "anna", 30)).status == "succeeded"


@pytest.mark.parametrize("seconds", [0, -1, 100.5, float("inf"), float("nan")])
async def test_another_wait_is_refused(seconds: float) -> None:
    store = memory_store()
    with pytest.raises(InvalidRequestError, match="start_within_seconds"):
        await submit(Refusing(store), ExecutionSettings(start_within_seconds=100), start_within_seconds=seconds)
    assert not any((await store.figures()).jobs.values())


async def test_a_job_longer_than_its_message_lives_is_refused_by_a_queue() -> None:
    settings = ExecutionSettings(runner="celery", longest_job_seconds=60)
    with pytest.raises(InvalidRequestError, match="total_timeout_seconds"):
        await submit(Refusing(memory_store()), settings, seconds=61)
    async with embedded() as deployment:
        await submit(deployment, settings, seconds=60)
        await submit(deployment, ExecutionSettings(longest_job_seconds=60), seconds=61)


async def test_a_request_without_its_token_counter_is_refused_before_it_is_recorded() -> None:
    request = request_of(1).model_copy(update={"token_counter": "unknown"})
    async with embedded(SteeredModel()) as deployment:
        with pytest.raises(InvalidRequestError) as refused:
            await submit(deployment, request=request)
        assert [problem["path"] for problem in refused.value.problems] == ["token_counter"]
        assert not any((await deployment.store.figures()).jobs.values())


async def test_what_no_runner_takes_leaves_nothing_behind() -> None:
    store = memory_store()
    deployment = Refusing(store)
    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            await submit(deployment, idempotency_key="k")
    assert deployment.submitted == 2
    figures = await store.figures()
    assert not any(figures.jobs.values())
    assert figures.stored_bytes == 0


async def test_the_first_failure_is_raised_even_if_nothing_can_be_taken_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def unreachable(*args: Any) -> None:
        raise StoreUnavailableError("The store cannot be reached.")

    store = memory_store()
    monkeypatch.setattr(store, "cancel", unreachable)
    with pytest.raises(StoreUnavailableError, match="queue"):
        await submit(Refusing(store))
    assert "stays recorded" in caplog.text


async def test_whoever_gives_up_meanwhile_leaves_no_job_that_nobody_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded, goes_on = asyncio.Event(), asyncio.Event()
    async with embedded() as deployment:
        create = deployment.store.create

        async def slow_create(job: Any) -> Accepted:
            accepted = await create(job)
            recorded.set()
            await goes_on.wait()
            return accepted

        monkeypatch.setattr(deployment.store, "create", slow_create)
        async with create_task_group() as tasks:
            tasks.start_soon(submit, deployment)
            await recorded.wait()
            tasks.cancel_scope.cancel()
            goes_on.set()
        (job,) = (await deployment.store.page(None, status=None, cursor=None, limit=10)).jobs
        assert (await wait_until_final(deployment.store, job.id, None, 30)).status == "succeeded"
