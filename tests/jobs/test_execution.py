"""One leased job, run to its end: success, failures, loss, cancellation from outside, a store that is away."""

import asyncio
import logging
import math
from collections.abc import Mapping
from typing import Any

import orjson
import pytest
from clocks import ManualClock
from execution_models import SteeredModel, body_of, request_of
from models import always

from reme_compact import CompactContextStep, CompactionRequest, Response
from reme_compact.compaction.compactor import Compactor
from reme_compact.contract.errors import StoreUnavailableError
from reme_compact.contract.job import JobDocument
from reme_compact.decision.batching import Batch
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.execution import execute
from reme_compact.jobs.identity import new_job_id
from reme_compact.jobs.log_context import current_job_id
from reme_compact.jobs.memory_store import MemoryStore
from reme_compact.jobs.observation import NoObserver, RunEnd
from reme_compact.jobs.record import Lease, NewJob
from reme_compact.jobs.store import StoreLimits

pytestmark = pytest.mark.anyio


class Watching(NoObserver):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.proposals: list[Mapping[str, Any] | None] = []

    def job_started(self, job_id: str, *, attempt: int) -> None:
        self.told.append(f"started {attempt}")

    def batch_scored(self, job_id: str, outcome: BatchOutcome) -> None:
        self.told.append("scored")

    def job_finished(self, job_id: str, end: RunEnd, *, seconds: float, proposal: Mapping[str, Any] | None) -> None:
        assert seconds >= 0
        self.told.append(end)
        self.proposals.append(proposal)


class Absent(MemoryStore):
    """A store that cannot be reached for a number of calls of each kind."""

    def __init__(self, limits: StoreLimits, clock: ManualClock, absences: dict[str, float]) -> None:
        super().__init__(limits, clock)
        self.absences = absences

    def _come(self, name: str) -> None:
        if self.absences.get(name, 0) > 0:
            self.absences[name] -= 1
            raise StoreUnavailableError("It cannot be reached.")

    async def planned(self, lease: Lease, *, candidates: int, asked: int, batches: int) -> None:
        self._come("planned")
        await super().planned(lease, candidates=candidates, asked=asked, batches=batches)

    async def scored(self, job_id: str, batch: Batch, outcome: BatchOutcome) -> bool:
        self._come("scored")
        return await super().scored(job_id, batch, outcome)

    async def succeed(self, lease: Lease, result: list[bytes]) -> bool:
        self._come("succeed")
        return await super().succeed(lease, result)

    async def renew(self, lease: Lease) -> bool:
        self._come("renew")
        return await super().renew(lease)

    async def lost(self, lease: Lease) -> None:
        self._come("lost")
        await super().lost(lease)

    async def release(self, lease: Lease) -> None:
        self._come("release")
        await super().release(lease)


def new_store(lease_seconds: float = 60, **absences: float) -> Absent:
    return Absent(StoreLimits(10, 10**9, 3600, lease_seconds), ManualClock(), absences)


async def leased(store: MemoryStore, request: CompactionRequest, **fields: Any) -> Lease:
    job = NewJob(new_job_id(store._now()), "compact_context", "anna", request, body_of(request), 60, **fields)
    await store.create(job)
    lease = await store.start(job.id, "a worker")
    assert lease is not None
    return lease


def compactor(model: Any) -> Compactor:
    return CompactContextStep(as_decision_model=model).compactor


async def document_of(store: MemoryStore, lease: Lease) -> JobDocument:
    return await store.get(lease.job_id, None)


async def answer_of(store: MemoryStore, lease: Lease) -> dict[str, Any]:
    response = orjson.loads(b"".join(await store.result(lease.job_id, None)))
    return dict(response["answer"])


async def types_of_events(store: MemoryStore, lease: Lease) -> list[str]:
    return [event.type async for event in store.events(lease.job_id, None, None)]


async def test_a_job_brings_the_proposal_that_the_step_brings() -> None:
    store, request, observer = new_store(), request_of(3), Watching()
    lease = await leased(store, request)
    await execute(store, lease, compactor(always(0.0)), observer=observer)
    document = await document_of(store, lease)
    assert document.status == "succeeded"
    assert document.progress.model_dump() == {
        "candidates": 3,
        "asked": 3,
        "scored": 3,
        "batches": 3,
        "batches_scored": 3,
    }
    direct = await CompactContextStep(as_decision_model=always(0.0)).run(request)
    response = Response.model_validate(orjson.loads(b"".join(await store.result(lease.job_id, None))))
    for answer in (direct.answer, response.answer):
        del answer["stats"]["elapsed_ms"]
    assert response.answer == direct.answer
    assert response.success
    assert await types_of_events(store, lease) == [
        "queued",
        "started",
        "planned",
        *["batch_scored"] * 3,
        "deciding",
        "finished",
    ]
    assert observer.told == ["started 1", *["scored"] * 3, "succeeded"]
    (proposal,) = observer.proposals
    assert proposal is not None
    assert proposal["changed"]


async def test_a_typed_failure_is_the_jobs_error() -> None:
    store, observer = new_store(), Watching()
    values = request_of(1).model_dump() | {"token_counter": "nowhere"}
    lease = await leased(store, CompactionRequest.parse(values))
    await execute(store, lease, compactor(always(0.0)), observer=observer)
    document = await document_of(store, lease)
    assert document.status == "failed"
    assert document.error is not None
    assert (document.error.code, document.error.error) == ("invalid_request", "InvalidRequestError")
    assert "token_counter" in document.error.message
    assert observer.told == ["started 1", "failed"]


async def test_a_failure_that_nobody_foresaw_is_logged_and_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Compactor):
        def __init__(self) -> None:
            pass

        async def compact(self, *args: Any, **kwargs: Any) -> Response:
            raise RuntimeError("secret message content")

    store = new_store()
    lease = await leased(store, request_of(1))
    await execute(store, lease, Broken())
    error = (await document_of(store, lease)).error
    assert error is not None
    assert error.code == "internal_error"
    assert "secret" not in error.message + caplog.text
    assert "RuntimeError at" in caplog.text


async def test_the_log_knows_which_job_it_is_about() -> None:
    seen: list[str | None] = []

    async def model(state: Any, questions: Any) -> Any:
        seen.append(current_job_id())
        return await always(0.0)(state, questions)

    store = new_store()
    lease = await leased(store, request_of(1))
    await execute(store, lease, compactor(model))
    assert seen == [lease.job_id]
    assert current_job_id() is None


async def test_a_cancelled_job_asks_nothing_more() -> None:
    store, model, observer = new_store(), SteeredModel(), Watching()
    lease = await leased(store, request_of(6))
    run = asyncio.create_task(execute(store, lease, compactor(model), observer=observer))
    await model.until_started(2)
    await store.cancel(lease.job_id, "anna")
    assert (model.running, model.cancelled) == (0, 2)
    model.allow(6)
    await run
    assert model.started == 2
    assert (await document_of(store, lease)).status == "cancelled"
    assert observer.told == ["started 1", "cancelled"]


@pytest.mark.parametrize("turns", range(0, 30, 2))
async def test_no_request_starts_after_the_cancellation_is_acknowledged(turns: int) -> None:
    started = 0
    first = asyncio.Event()

    async def model(state: Any, questions: Any) -> Any:
        nonlocal started
        started += 1
        first.set()
        return await always(0.0)(state, questions)

    store = new_store()
    lease = await leased(store, request_of(100))
    run = asyncio.create_task(execute(store, lease, compactor(model)))
    await first.wait()
    for _ in range(turns):
        await asyncio.sleep(0)
    await store.cancel(lease.job_id, "anna")
    acknowledged = started
    await run
    assert started == acknowledged
    assert acknowledged < 100


async def test_a_job_that_is_cancelled_before_it_began_asks_nothing() -> None:
    store, model = new_store(), SteeredModel(allowed=9)
    lease = await leased(store, request_of(3))
    await store.cancel(lease.job_id, "anna")
    await execute(store, lease, compactor(model))
    assert model.started == 0


async def test_a_lease_that_is_taken_by_another_ends_the_run() -> None:
    store, model, observer = new_store(lease_seconds=5), SteeredModel(), Watching()
    lease = await leased(store, request_of(4))
    run = asyncio.create_task(execute(store, lease, compactor(model), observer=observer))
    await model.until_started(2)
    store._now.advance(6)  # type: ignore[attr-defined]
    other = await store.start(lease.job_id, "another")
    assert other is not None
    await run
    assert model.cancelled == 2
    assert observer.told == ["started 1", "lost"]
    assert (await document_of(store, lease)).status == "running"
    assert await store.renew(other)


async def test_a_lease_found_lost_at_its_renewal_ends_the_run() -> None:
    store, model = new_store(lease_seconds=5, lost=math.inf), SteeredModel()
    lease = await leased(store, request_of(4))
    run = asyncio.create_task(execute(store, lease, compactor(model), renew_every_seconds=0.01))
    await model.until_started(2)
    await store.cancel(lease.job_id, "anna")
    await run
    assert model.cancelled == 2


async def test_a_lease_is_renewed_though_the_store_is_away_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    store, model = new_store(renew=2), SteeredModel()
    renewed = asyncio.Event()
    lease = await leased(store, request_of(2))
    renew = store.renew

    async def renew_and_tell(lease: Lease) -> bool:
        held = await renew(lease)
        renewed.set()
        return held

    store.renew = renew_and_tell  # type: ignore[method-assign]
    run = asyncio.create_task(execute(store, lease, compactor(model), renew_every_seconds=0.01))
    await model.until_started(2)
    await renewed.wait()
    model.allow(2)
    await run
    assert (await document_of(store, lease)).status == "succeeded"
    assert caplog.text.count("could not be renewed") == 2


async def test_cancellation_from_outside_gives_the_lease_back_and_another_goes_on() -> None:
    store, model, observer = new_store(), SteeredModel(allowed=3), Watching()
    lease = await leased(store, request_of(6))
    run = asyncio.create_task(execute(store, lease, compactor(model), observer=observer))
    await model.until_started(5)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert observer.told[-1] == "released"
    assert (await document_of(store, lease)).status == "running"
    second = await store.start(lease.job_id, "another")
    assert second is not None
    assert len(second.known) == 3
    fresh = always(0.0)
    await execute(store, second, compactor(fresh))
    assert len(fresh.asked) == 3
    assert (await answer_of(store, second))["stats"]["requests"] == 6
    assert (await document_of(store, second)).progress.batches_scored == 6


async def test_the_clock_goes_on_from_the_first_start() -> None:
    store = new_store()
    lease = await leased(store, request_of(2, total_timeout_seconds=5))
    store._now.advance(6)  # type: ignore[attr-defined]
    await store.release(lease)
    second = await store.start(lease.job_id, "another")
    assert second is not None
    model = SteeredModel(allowed=9)
    await execute(store, second, compactor(model))
    answer = await answer_of(store, second)
    assert [decision["reason"] for decision in answer["decisions"]] == ["timeout", "timeout"]
    assert model.started == 0


async def test_time_over_ends_in_a_proposal_from_what_came() -> None:
    store, model = new_store(), SteeredModel(allowed=1)
    lease = await leased(store, request_of(3, total_timeout_seconds=0.5))
    await execute(store, lease, compactor(model))
    reasons = [decision["reason"] for decision in (await answer_of(store, lease))["decisions"]]
    assert sorted(reasons) == ["low_relevance", "timeout", "timeout"]


async def test_a_store_that_comes_back_costs_nothing() -> None:
    store = new_store(planned=1, scored=2, succeed=1, lost=1)
    lease = await leased(store, request_of(2))
    await execute(store, lease, compactor(always(0.0)))
    document = await document_of(store, lease)
    assert (document.status, document.progress.batches_scored) == ("succeeded", 2)


@pytest.mark.parametrize("operation", ["planned", "scored", "succeed"])
async def test_a_store_that_stays_away_is_raised_and_fails_no_job(operation: str) -> None:
    store = new_store(**{operation: math.inf})
    lease = await leased(store, request_of(2))
    with pytest.raises(StoreUnavailableError):
        await execute(store, lease, compactor(always(0.0)), patience_seconds=0)
    assert (await document_of(store, lease)).status == "running"


async def test_a_lease_that_cannot_be_given_back_lapses(caplog: pytest.LogCaptureFixture) -> None:
    store, model = new_store(release=1), SteeredModel()
    lease = await leased(store, request_of(2))
    run = asyncio.create_task(execute(store, lease, compactor(model)))
    await model.until_started(2)
    run.cancel()
    with caplog.at_level(logging.WARNING), pytest.raises(asyncio.CancelledError):
        await run
    assert "could not be given back" in caplog.text
    assert await store.renew(lease)


async def test_outcomes_that_others_record_are_not_recorded_again() -> None:
    store = new_store()
    lease = await leased(store, request_of(2))
    await execute(store, lease, compactor(always(0.0)), records_outcomes=False)
    assert "batch_scored" not in await types_of_events(store, lease)
    assert (await document_of(store, lease)).status == "succeeded"


async def test_a_result_for_which_there_is_no_room_fails_the_job() -> None:
    values = request_of(2).model_dump()
    # A byte per character in memory, six in a response.
    values["messages"].append({"role": "user", "content": [{"type": "text", "text": "\x01" * 100_000}]})
    request = CompactionRequest.parse(values)
    roomy = new_store()
    await leased(roomy, request)
    limit = (await roomy.figures()).stored_bytes
    store = MemoryStore(StoreLimits(10, limit, 3600, 60), ManualClock())
    lease = await leased(store, request)
    await execute(store, lease, compactor(always(0.0)))
    document = await document_of(store, lease)
    assert document.status == "failed"
    assert document.error is not None
    assert document.error.code == "storage_full"
