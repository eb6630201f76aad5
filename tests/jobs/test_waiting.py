"""Wait for the end of a job, or for as long as one cares to."""

import asyncio
from typing import Any

import pytest
from clocks import ManualClock
from job_store_base import FAILURE, RESULT, JobStoreBase, started

from reme_compact.contract.errors import JobExpiredError, JobNotFoundError
from reme_compact.jobs.memory_store import MemoryStore
from reme_compact.jobs.store import StoreLimits
from reme_compact.jobs.waiting import wait_until_final


class TestWaiting(JobStoreBase):
    @pytest.fixture(autouse=True)
    def clock(self) -> ManualClock:
        self._clock = ManualClock()
        return self._clock

    async def make_store(self, limits: StoreLimits) -> MemoryStore:
        return MemoryStore(limits, self._clock)

    async def let_pass(self, seconds: float) -> None:
        self._clock.advance(seconds)

    async def test_the_end_is_returned_as_soon_as_it_is_there(self) -> None:
        store = await self.store()
        job_id = await self.queued(store)
        waiting = [asyncio.create_task(wait_until_final(store, job_id, "anna", limit)) for limit in (None, 60)]
        await asyncio.sleep(0)
        await store.succeed(await started(store, job_id), RESULT)
        for task in waiting:
            assert (await task).status == "succeeded"

    async def test_what_is_finished_is_returned_at_once(self) -> None:
        store = await self.store()
        for status, job_id in (await self.one_of_each(store)).items():
            assert (await wait_until_final(store, job_id, "anna", None)).status == status

    @pytest.mark.parametrize("seconds", [0, 0.01])
    async def test_when_the_time_is_up_the_job_is_returned_as_it_is(self, seconds: float) -> None:
        store = await self.store()
        lease = await self.running(store)
        assert (await wait_until_final(store, lease.job_id, "anna", seconds)).status == "running"
        await store.fail(lease, FAILURE)
        assert (await wait_until_final(store, lease.job_id, "anna", seconds)).status == "failed"

    async def test_a_job_of_somebody_else_is_not_waited_for(self) -> None:
        store = await self.store()
        job_id = await self.queued(store)
        with pytest.raises(JobNotFoundError):
            await wait_until_final(store, job_id, "ben", None)
        assert (await wait_until_final(store, job_id, None, 0)).status == "queued"

    async def test_a_job_that_is_gone_meanwhile_is_said_to_be(self) -> None:
        store = await self.store(results_expire_after_seconds=5)
        for how, error in (("forget", JobNotFoundError), ("expire", JobExpiredError)):
            waiting: asyncio.Task[Any] = asyncio.create_task(
                wait_until_final(store, job_id := await self.queued(store), "anna", None)
            )
            await asyncio.sleep(0)
            await store.cancel(job_id, "anna")
            if how == "forget":
                await store.forget(job_id)
            else:
                await self.let_pass(5)
            with pytest.raises(error):
                await waiting

    async def test_giving_up_leaves_the_job_alone(self) -> None:
        store = await self.store()
        lease = await self.running(store)
        waiting = asyncio.create_task(wait_until_final(store, lease.job_id, "anna", None))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await store.succeed(lease, RESULT)
