"""Jobs in memory: the suite of every store, and what only this one promises."""

import asyncio
import gc
import math
import weakref

import orjson
import pytest
from clocks import ManualClock
from job_store_base import REQUEST, RESULT, all_events, batch, outcome, started
from job_store_suite import JobStoreSuite

from reme_compact.contract.errors import JobExpiredError, JobNotFoundError, RequestTooLargeError, StorageFullError
from reme_compact.contract.request import CompactionRequest
from reme_compact.jobs import memory_records
from reme_compact.jobs.memory_size import BYTES_PER_JOB, memory_of
from reme_compact.jobs.memory_store import MemoryStore
from reme_compact.jobs.store import StoreLimits


class TestMemoryStore(JobStoreSuite):
    @pytest.fixture(autouse=True)
    def clock(self) -> ManualClock:
        self._clock = ManualClock()
        return self._clock

    async def make_store(self, limits: StoreLimits) -> MemoryStore:
        return MemoryStore(limits, self._clock)

    async def let_pass(self, seconds: float) -> None:
        self._clock.advance(seconds)

    async def test_stored_bytes_are_those_of_the_request_and_then_of_the_result(self) -> None:
        store = await self.store()
        lease = await self.running(store)
        assert (await store.figures()).stored_bytes == BYTES_PER_JOB + memory_of(REQUEST)
        await store.succeed(lease, [b"x" * 10, b"y"])
        assert (await store.figures()).stored_bytes == BYTES_PER_JOB + 11

    async def test_a_small_body_that_becomes_large_in_memory_counts_as_large(self) -> None:
        store = await self.store(max_stored_bytes=1_000_000)
        message = {**CompactionRequest.example["messages"][0], "extra": [{} for _ in range(30_000)]}
        body = orjson.dumps({**CompactionRequest.example, "messages": [message]})
        assert len(body) < 100_000
        with pytest.raises(RequestTooLargeError):
            await store.create(self.new_job(body=body))

    async def test_a_sweep_names_what_has_been_queued_for_a_while(self) -> None:
        store = await self.store(lease_seconds=5)
        job_id = await self.queued(store)
        assert (await store.sweep()).unclaimed == []
        await self.let_pass(5)
        assert (await store.sweep()).unclaimed == [job_id]
        await started(store, job_id)
        assert (await store.sweep()).unclaimed == []

    async def test_what_is_started_too_late_is_timed_out_then(self) -> None:
        store = await self.store()
        job_id = await self.queued(store, start_within_seconds=5)
        await self.let_pass(5)
        assert await store.start(job_id, "a worker") is None
        assert (await store.get(job_id, "anna")).status == "timed_out"

    async def test_a_lease_may_last_forever(self) -> None:
        store = await self.store(lease_seconds=math.inf)
        lease = await self.running(store)
        await self.let_pass(10**9)
        assert await store.start(lease.job_id, "another") is None
        assert (await store.sweep()).lapsed == []

    async def test_results_may_be_kept_as_good_as_forever(self) -> None:
        store = await self.store(results_expire_after_seconds=1e300)
        job_id = await self.succeeded(store)
        await self.let_pass(10**8)
        assert await store.result(job_id, "anna") == RESULT

    async def test_ids_of_events_grow_even_if_the_clock_goes_back(self) -> None:
        store = await self.store()
        lease = await self.running(store)
        self._clock.advance(-3600)
        await store.succeed(lease, RESULT)
        events = await all_events(store, lease.job_id)
        assert [event.id.split("-")[1] for event in events] == ["0", "1", "2"]
        assert len({event.id.split("-")[0] for event in events}) == 1

    async def test_the_store_remembers_whose_only_so_many_expired_jobs_were(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(memory_records, "_MOST_TOMBSTONES", 2)
        store = await self.store(results_expire_after_seconds=5)
        jobs = [await self.succeeded(store) for _ in range(3)]
        await self.let_pass(5)
        with pytest.raises(JobNotFoundError):
            await store.get(jobs[0], "anna")
        for job_id in jobs[1:]:
            with pytest.raises(JobExpiredError):
                await store.get(job_id, "anna")

    async def test_a_sweep_counts_the_owners_it_forgets(self) -> None:
        store = await self.store(results_expire_after_seconds=5)
        await self.succeeded(store)
        await self.let_pass(5)
        assert (await store.sweep()).removed == 0
        await self.let_pass(5)
        assert (await store.sweep()).removed == 1

    async def test_cancel_returns_when_the_holder_has_let_go(self) -> None:
        store = await self.store()
        lease = await self.running(store)
        told = asyncio.Event()
        goes_on = asyncio.Event()

        async def hold() -> None:
            await store.lost(lease)
            told.set()
            await goes_on.wait()
            await store.release(lease)

        holder = asyncio.create_task(hold())
        await asyncio.sleep(0)
        cancelling = asyncio.create_task(store.cancel(lease.job_id, "anna"))
        await told.wait()
        assert not cancelling.done()
        goes_on.set()
        assert (await cancelling).status == "cancelled"
        await holder

    async def test_a_holder_that_does_not_let_go_is_not_waited_for(self) -> None:
        store = await self.store()
        lease = await self.running(store)
        holder = asyncio.create_task(store.lost(lease))
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            assert (await store.cancel(lease.job_id, "anna")).status == "cancelled"
        await holder

    async def test_all_jobs_can_be_ended_at_once(self) -> None:
        store = await self.store()
        done, queued, lease = await self.succeeded(store), await self.queued(store), await self.running(store)
        assert isinstance(store, MemoryStore)
        error = StorageFullError("It is full.").fields()
        await store.fail_all(error)
        assert not await store.renew(lease)
        for job_id in (queued, lease.job_id):
            assert (await all_events(store, job_id))[-1].data == {"status": "failed", "error": error}
        assert (await store.get(done, "anna")).status == "succeeded"

    async def test_what_a_finished_job_no_longer_needs_is_dropped(self) -> None:
        store = await self.store()
        job = self.new_job()
        request = weakref.ref(job.request)
        await store.create(job)
        lease = await started(store, job.id)
        await store.scored(job.id, batch(1), outcome(0.1, "t1-0"))
        await store.succeed(lease, RESULT)
        del job, lease
        gc.collect()
        assert request() is None

    async def test_nothing_is_left_of_jobs_that_are_gone(self) -> None:
        store = await self.store(results_expire_after_seconds=5)
        for number in range(50):
            await store.create(self.new_job(f"owner {number}", idempotency_key=f"key {number}"))
        for job in (await store.page(None, status=None, cursor=None, limit=100)).jobs:
            await store.cancel(job.id, None)
        await self.let_pass(5)
        await store.sweep()
        await self.let_pass(5)
        await store.sweep()
        assert isinstance(store, MemoryStore)
        left = {name: part for name, part in vars(store._records).items() if hasattr(part, "__len__")}
        left |= {"counts": sum(store._records.counts.values()), "of owner": +store._records._active_of}
        del left["_active_of"]
        assert not any(left.values()), left
