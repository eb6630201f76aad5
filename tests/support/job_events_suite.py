"""What watchers of a job are told: everything once, in order, from wherever they resume."""

import asyncio
import re

import pytest
from anyio import create_task_group, fail_after
from job_store_base import FAILURE, RESULT, JobStoreBase, all_events, batch, outcome, started

from reme_compact.contract.errors import InvalidRequestError
from reme_compact.contract.job import JobEvent
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.record import Lease
from reme_compact.jobs.store import JobStore

TYPES = ["queued", "started", "planned", "batch_scored", "batch_scored", "deciding", "finished"]


async def go_on(store: JobStore, lease: Lease) -> None:
    """Take a job that was started to its end."""
    await store.planned(lease, candidates=4, asked=3, batches=2)
    await store.scored(lease.job_id, batch(1, units=2), outcome(0.1, "t1-0", "t1-1"))
    await store.scored(lease.job_id, batch(2), BatchOutcome(error=FAILURE))
    await store.deciding(lease)
    await store.succeed(lease, RESULT)


class JobEventsSuite(JobStoreBase):
    """`JobStore.events`."""

    async def test_everything_that_happens_is_told(self) -> None:
        store = await self.store()
        lease = await self.running(store)
        await go_on(store, lease)
        events = await all_events(store, lease.job_id)
        assert [event.type for event in events] == TYPES
        assert [event.data for event in events] == [
            {},
            {"attempt": 1},
            {"candidates": 4, "asked": 3, "batches": 2},
            {"scored": 2, "asked": 3, "batches_scored": 1, "batches": 2, "error": None},
            {"scored": 3, "asked": 3, "batches_scored": 2, "batches": 2, "error": FAILURE},
            {},
            {"status": "succeeded", "error": None},
        ]

    async def test_every_end_is_told(self) -> None:
        store = await self.store()
        for status, job_id in (await self.one_of_each(store)).items():
            last = (await all_events(store, job_id))[-1]
            error = (await store.get(job_id, "anna")).error
            assert last.type == "finished"
            assert last.data == {"status": status, "error": None if error is None else error.model_dump()}

    async def test_ids_grow(self) -> None:
        store = await self.store()
        lease = await self.running(store)
        await go_on(store, lease)
        ids = [event.id for event in await all_events(store, lease.job_id)]
        assert all(re.fullmatch(r"\d+-\d+", event_id) for event_id in ids)
        positions = [tuple(map(int, event_id.split("-"))) for event_id in ids]
        assert positions == sorted(set(positions))

    async def test_events_resume_after_every_one_of_them(self) -> None:
        store = await self.store()
        lease = await self.running(store)
        await go_on(store, lease)
        events = await all_events(store, lease.job_id)
        for index, event in enumerate(events):
            assert await all_events(store, lease.job_id, after=event.id) == events[index + 1 :]
        assert await all_events(store, lease.job_id, after="0-0") == events

    async def test_many_watchers_see_the_same_whenever_they_come(self) -> None:
        store = await self.store()
        job_id = await self.queued(store)
        seen: list[list[JobEvent]] = []

        async def watch(after: str | None = None, known: tuple[JobEvent, ...] = ()) -> None:
            seen.append([*known, *await all_events(store, job_id, after=after)])

        with fail_after(30):
            async with create_task_group() as tasks:
                for _ in range(10):
                    tasks.start_soon(watch)
                lease = await started(store, job_id)
                await store.planned(lease, candidates=60, asked=60, batches=60)
                for number in range(60):
                    await store.scored(job_id, batch(number), outcome(0.1, f"t{number}-0"))
                    if number % 20 == 0:
                        first = await anext(aiter(store.events(job_id, "anna", None)))
                        tasks.start_soon(watch, first.id, (first,))
                await store.succeed(lease, RESULT)
        everything = await all_events(store, job_id)
        assert len(everything) == 64
        assert len(seen) == 13
        assert all(events == everything for events in seen)

    async def test_a_watcher_that_reads_slowly_misses_nothing(self) -> None:
        store = await self.store()
        job_id = await self.queued(store)
        watched = []
        async for event in store.events(job_id, "anna", None):
            watched.append(event)
            if event.type == "queued":
                await go_on(store, await started(store, job_id))
        assert [event.type for event in watched] == TYPES

    async def test_a_later_start_is_told_with_its_number(self) -> None:
        store = await self.store()
        lease = await self.running(store)
        await store.release(lease)
        await store.fail(await started(store, lease.job_id), FAILURE)
        events = await all_events(store, lease.job_id)
        assert [event.data for event in events if event.type == "started"] == [{"attempt": 1}, {"attempt": 2}]
        assert events[-1].data == {"status": "failed", "error": FAILURE}

    async def test_a_watcher_hears_of_a_cancellation(self) -> None:
        store = await self.store()
        job_id = await self.queued(store)
        with fail_after(10):
            watching = asyncio.create_task(all_events(store, job_id))
            await store.cancel(job_id, "anna")
            events = await watching
        assert [event.type for event in events] == ["queued", "finished"]
        assert events[-1].data == {"status": "cancelled", "error": None}

    async def test_watching_ends_when_the_job_is_removed_meanwhile(self) -> None:
        store = await self.store()
        for _ in range(2):
            job_id = await self.queued(store)
            events = aiter(store.events(job_id, "anna", None))
            assert (await anext(events)).type == "queued"
            await store.cancel(job_id, "anna")
            await store.forget(job_id)
            with fail_after(10):
                assert [event.type async for event in events] in ([], ["finished"])

    @pytest.mark.parametrize("after", ["", "x", "1", "1-", "-1", "1-2-3", "1_0-0", "٣-٠", "1-0\n", "9" * 400])
    async def test_an_id_that_is_none_is_refused(self, after: str) -> None:
        store = await self.store()
        job_id = await self.succeeded(store)
        with pytest.raises(InvalidRequestError):
            await all_events(store, job_id, after=after)

    async def test_the_events_of_a_finished_job_end_whatever_id_they_resume_after(self) -> None:
        store = await self.store()
        job_id = await self.succeeded(store)
        with fail_after(10):
            assert await all_events(store, job_id, after="9999999999999-0") == []
