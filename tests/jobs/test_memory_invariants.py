"""Whatever is done with a store in memory, in whatever order: its figures are right and what is final stays."""

import asyncio
import itertools
from typing import Any

import orjson
from clocks import ManualClock
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule
from job_store_base import FAILURE, batch, outcome

from reme_compact.contract.errors import ReMeError
from reme_compact.contract.job import JobDocument
from reme_compact.contract.request import CompactionRequest
from reme_compact.jobs.identity import new_job_id
from reme_compact.jobs.memory_size import BYTES_PER_BATCH, BYTES_PER_JOB, BYTES_PER_VERDICT, memory_of
from reme_compact.jobs.memory_store import MemoryStore
from reme_compact.jobs.record import Lease, NewJob
from reme_compact.jobs.store import StoreLimits

REQUEST = CompactionRequest.parse(CompactionRequest.example)
REQUEST_BYTES = memory_of(REQUEST)
LIMITS = StoreLimits(
    max_active_jobs=4,
    max_stored_bytes=5 * BYTES_PER_JOB + 2 * REQUEST_BYTES,
    results_expire_after_seconds=20,
    lease_seconds=5,
    unread_seconds=3,
)
OWNERS = st.sampled_from(["anna", "ben"])
KEYS = st.sampled_from([None, None, "k1", "k2"])


class Store(RuleBasedStateMachine):
    """Random histories of a store, beside what must have come of them."""

    jobs = Bundle("jobs")
    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock()
        self.store = MemoryStore(LIMITS, self.clock)
        self.final: dict[str, JobDocument] = {}
        self.results: dict[str, int] = {}

    def teardown(self) -> None:
        self.loop.close()

    def run(self, operation: Any) -> Any:
        return self.loop.run_until_complete(operation)

    def all_jobs(self) -> list[JobDocument]:
        jobs: list[JobDocument] = self.run(self.store.page(None, status=None, cursor=None, limit=1000)).jobs
        return jobs

    @rule(target=jobs, owner=OWNERS, key=KEYS, size=st.integers(1, 200), patience=st.sampled_from([1, 60]))
    def create(self, owner: str, key: str | None, size: int, patience: float) -> Any:
        job = NewJob(
            id=new_job_id(self.clock()),
            job="compact_context",
            owner=owner,
            request=REQUEST,
            body=orjson.dumps("x" * size),
            start_within_seconds=patience,
            idempotency_key=key,
            max_active_of_owner=3,
        )
        try:
            accepted = self.run(self.store.create(job))
        except ReMeError:
            return multiple()
        return accepted.document.id

    @rule(target=leases, job=jobs)
    def start(self, job: str) -> Any:
        lease = self.run(self.store.start(job, "a worker"))
        return multiple() if lease is None else lease

    @rule(lease=leases)
    def renew(self, lease: Lease) -> None:
        self.run(self.store.renew(lease))

    @rule(lease=leases)
    def release(self, lease: Lease) -> None:
        self.run(self.store.release(lease))

    @rule(lease=leases, number=st.integers(0, 2))
    def scored(self, lease: Lease, number: int) -> None:
        before = self.progress(lease.job_id)
        counts = self.run(self.store.scored(lease.job_id, batch(number), outcome(0.5, f"t{number}-0")))
        assert self.progress(lease.job_id) == before + counts

    def progress(self, job: str) -> int:
        return sum(document.progress.batches_scored for document in self.all_jobs() if document.id == job)

    @rule(lease=leases, size=st.sampled_from([0, 500, 5000, 50_000]))
    def succeed(self, lease: Lease, size: int) -> None:
        if self.run(self.store.succeed(lease, [b"x" * size])):
            self.results[lease.job_id] = size

    @rule(lease=leases)
    def fail(self, lease: Lease) -> None:
        self.run(self.store.fail(lease, FAILURE))

    @rule(job=jobs)
    def cancel(self, job: str) -> None:
        try:
            assert self.run(self.store.cancel(job, None)).is_final
        except ReMeError:
            assert job not in {document.id for document in self.all_jobs()}

    @rule(job=jobs)
    def forget(self, job: str) -> None:
        self.run(self.store.forget(job))

    @rule(seconds=st.sampled_from([0.5, 2, 6, 25]))
    def let_pass(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def sweep(self) -> None:
        sweep = self.run(self.store.sweep())
        statuses = {document.id: document.status for document in self.all_jobs()}
        assert {statuses[job] for job in sweep.timed_out} <= {"timed_out"}
        assert {statuses[job] for job in sweep.lapsed} <= {"running"}
        assert {statuses[job] for job in sweep.unclaimed} <= {"queued"}

    @invariant()
    def what_is_final_stays(self) -> None:
        for document in self.all_jobs():
            if document.is_final:
                assert self.final.setdefault(document.id, document) == document
            else:
                assert document.id not in self.final

    @invariant()
    def figures_are_those_of_the_jobs(self) -> None:
        jobs = self.all_jobs()
        figures = self.run(self.store.figures())
        assert {status: number for status, number in figures.jobs.items() if number} == {
            status: len(list(group))
            for status, group in itertools.groupby(sorted(document.status for document in jobs))
        }
        results = sum(self.results[document.id] for document in jobs if document.status == "succeeded")
        unfinished = [document for document in jobs if not document.is_final]
        scored = BYTES_PER_BATCH * sum(document.progress.batches_scored for document in jobs)
        scored += BYTES_PER_VERDICT * sum(document.progress.scored for document in unfinished)
        without_scored = BYTES_PER_JOB * len(jobs) + REQUEST_BYTES * len(unfinished) + results
        assert figures.stored_bytes == without_scored + scored
        assert without_scored <= LIMITS.max_stored_bytes
        assert len(unfinished) <= LIMITS.max_active_jobs

    @invariant()
    def the_end_of_a_job_is_its_last_event(self) -> None:
        for document in self.all_jobs():
            if document.is_final:
                events = self.run(_all(self.store, document.id))
                assert [event.type for event in events].index("finished") == len(events) - 1
                assert events[-1].data["status"] == document.status


async def _all(store: MemoryStore, job_id: str) -> list[Any]:
    return [event async for event in store.events(job_id, None, None)]


Store.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestStore = Store.TestCase
