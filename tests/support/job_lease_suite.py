"""Who may run a job, what it leaves to the next one, and that an end is an end."""

import asyncio

import pytest
from anyio import create_task_group, fail_after
from job_store_base import (
    FAILURE,
    REQUEST,
    RESULT,
    JobStoreBase,
    all_events,
    batch,
    outcome,
    request_body,
    started,
)

from reme_compact.contract.errors import ReMeError
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.jobs.record import Lease
from reme_compact.jobs.store import JobStore


async def returns_after_loss(store: JobStore, lease: Lease) -> None:
    with fail_after(10):
        await store.lost(lease)


async def expect_lost(store: JobStore, lease: Lease) -> None:
    """Check that a lease is worth nothing any more, and changes nothing."""
    document = await store.get(lease.job_id, None)
    await returns_after_loss(store, lease)
    assert not await store.renew(lease)
    await store.planned(lease, candidates=99, asked=99, batches=99)
    await store.deciding(lease)
    assert not await store.succeed(lease, [b"stale"])
    assert not await store.fail(lease, FAILURE)
    await store.release(lease)
    assert await store.get(lease.job_id, None) == document


class JobLeaseSuite(JobStoreBase):
    """`start`, `renew`, `release`, `lost`, `sweep`, and what a later attempt knows."""

    async def test_a_lease_carries_what_is_to_be_done(self) -> None:
        store = await self.store()
        job_id = await self.queued(store)
        lease = await started(store, job_id)
        assert (lease.job_id, lease.attempt, lease.request, dict(lease.known)) == (job_id, 1, REQUEST, {})
        assert lease.owner == "anna"
        assert lease.running_seconds == pytest.approx(0, abs=0.2)
        document = await store.get(job_id, "anna")
        assert document.status == "running"
        assert document.started_at is not None

    async def test_only_one_of_many_gets_the_lease(self) -> None:
        store = await self.store()
        job_id = await self.queued(store)
        leases = await asyncio.gather(*(store.start(job_id, f"holder {n}") for n in range(20)))
        assert sum(lease is not None for lease in leases) == 1

    async def test_what_is_finished_or_was_never_there_cannot_be_started(self) -> None:
        store = await self.store()
        for job_id in (*(await self.one_of_each(store)).values(), self.new_job().id):
            assert await store.start(job_id, "a worker") is None

    async def test_what_waited_too_long_cannot_be_started(self) -> None:
        store = await self.store()
        job_id = await self.queued(store, start_within_seconds=self.short_seconds)
        await self.let_pass(self.short_seconds)
        assert await store.start(job_id, "a worker") is None

    async def test_a_released_job_is_started_at_once_with_what_is_known(self) -> None:
        store = await self.store()
        first = await self.running(store)
        await store.planned(first, candidates=5, asked=4, batches=3)
        one, two = batch(1, units=2), batch(2)
        assert await store.scored(first.job_id, one, outcome(0.1, *one.unit_ids))
        failed = BatchOutcome(error=FAILURE)
        assert await store.scored(first.job_id, two, failed)
        await store.release(first)
        second = await started(store, first.job_id, "another")
        assert second.attempt == 2
        assert second.token != first.token
        assert second.request == REQUEST
        assert dict(second.known) == {one.key(): outcome(0.1, *one.unit_ids), two.key(): failed}
        await expect_lost(store, first)
        await store.planned(second, candidates=5, asked=4, batches=3)
        progress = (await store.get(first.job_id, "anna")).progress
        assert (progress.candidates, progress.asked, progress.batches) == (5, 4, 3)
        assert (progress.scored, progress.batches_scored) == (3, 2)
        assert await store.succeed(second, RESULT)

    async def test_resuming_does_not_change_when_it_was_started(self) -> None:
        store = await self.store()
        first = await self.running(store)
        started_at = (await store.get(first.job_id, "anna")).started_at
        await self.let_pass(self.short_seconds)
        await store.release(first)
        second = await started(store, first.job_id)
        assert (await store.get(first.job_id, "anna")).started_at == started_at
        assert self.short_seconds <= second.running_seconds < self.short_seconds + 5

    async def test_time_counts_from_the_start_or_from_acceptance(self) -> None:
        store = await self.store()
        jobs = [self.new_job(), self.new_job(runs_from_acceptance=True)]
        for job in jobs:
            await store.create(job)
        await self.let_pass(self.short_seconds)
        from_start, from_acceptance = [(await started(store, job.id)).running_seconds for job in jobs]
        assert from_start == pytest.approx(0, abs=0.2)
        assert self.short_seconds <= from_acceptance < self.short_seconds + 5

    async def test_a_sweep_names_queued_jobs_whose_time_counts_from_acceptance_and_is_over(self) -> None:
        store = await self.store()
        body = request_body(total_timeout_seconds=self.short_seconds)
        due, other = self.new_job(body=body, runs_from_acceptance=True), self.new_job(body=body)
        long, gone = self.new_job(runs_from_acceptance=True), self.new_job(body=body, runs_from_acceptance=True)
        for job in (due, other, long, gone):
            await store.create(job)
        await store.cancel(gone.id, None)
        assert (await store.sweep()).late == []
        await self.let_pass(self.short_seconds)
        for _ in range(2):
            assert (await store.sweep()).late == [due.id]
        lease = await started(store, due.id)
        assert lease.running_seconds >= self.short_seconds
        assert (await store.sweep()).late == []
        assert await store.succeed(lease, RESULT)

    async def test_a_lease_that_lapsed_can_be_taken(self) -> None:
        store = await self.store(lease_seconds=self.short_seconds)
        first = await self.running(store)
        assert await store.start(first.job_id, "another") is None
        await self.let_pass(self.short_seconds)
        second = await started(store, first.job_id, "another")
        await expect_lost(store, first)
        assert await store.renew(second)
        assert await store.succeed(second, RESULT)

    async def test_a_lease_that_lapsed_counts_until_it_is_taken(self) -> None:
        store = await self.store(lease_seconds=self.short_seconds)
        lease = await self.running(store)
        await self.let_pass(self.short_seconds)
        assert await store.renew(lease)
        assert await store.start(lease.job_id, "another") is None
        assert await store.succeed(lease, RESULT)

    async def test_a_renewed_lease_does_not_lapse(self) -> None:
        store = await self.store(lease_seconds=self.short_seconds)
        lease = await self.running(store)
        for _ in range(3):
            await self.let_pass(self.short_seconds / 2)
            assert await store.renew(lease)
        assert await store.start(lease.job_id, "another") is None
        assert (await store.sweep()).lapsed == []

    async def test_whoever_waits_for_the_loss_is_told(self) -> None:
        store = await self.store()
        for _ in range(2):
            lease = await self.running(store)
            with fail_after(10):
                async with create_task_group() as tasks:
                    tasks.start_soon(store.lost, lease)
                    tasks.start_soon(store.lost, lease)
                    await store.cancel(lease.job_id, "anna")
            await expect_lost(store, lease)

    async def test_a_theft_is_a_loss(self) -> None:
        store = await self.store(lease_seconds=self.short_seconds)
        lease = await self.running(store)
        await self.let_pass(self.short_seconds)
        with fail_after(10):
            async with create_task_group() as tasks:
                tasks.start_soon(store.lost, lease)
                await started(store, lease.job_id, "a thief")
        await expect_lost(store, lease)

    async def test_the_first_outcome_of_a_batch_wins(self) -> None:
        store = await self.store()
        lease = await self.running(store)
        await store.planned(lease, candidates=2, asked=2, batches=1)
        asked = batch(1, units=2)
        first, second = outcome(0.1, *asked.unit_ids), outcome(0.9, *asked.unit_ids)
        assert await store.scored(lease.job_id, asked, first)
        assert not await store.scored(lease.job_id, asked, second)
        assert not await store.scored(lease.job_id, batch(1, units=2), second)
        progress = (await store.get(lease.job_id, "anna")).progress
        assert (progress.scored, progress.batches_scored) == (2, 1)
        await store.release(lease)
        assert dict((await started(store, lease.job_id)).known) == {asked.key(): first}

    async def test_of_many_outcomes_at_once_one_wins(self) -> None:
        store = await self.store()
        lease = await self.running(store)
        asked = batch(1)
        won = await asyncio.gather(*(store.scored(lease.job_id, asked, outcome(n / 20, "t1-0")) for n in range(20)))
        assert sum(won) == 1
        assert (await store.get(lease.job_id, "anna")).progress.batches_scored == 1

    async def test_an_outcome_that_comes_after_the_end_does_not_count(self) -> None:
        store = await self.store()
        for job_id in (*(await self.one_of_each(store)).values(), self.new_job().id):
            assert not await store.scored(job_id, batch(1), outcome(0.1, "t1-0"))

    async def test_a_final_status_never_changes(self) -> None:
        store = await self.store()
        lease = await self.running(store)
        jobs = await self.one_of_each(store)
        await store.fail(lease, FAILURE)
        jobs["stale lease"] = lease.job_id
        for job_id in jobs.values():
            document, events = await store.get(job_id, "anna"), await all_events(store, job_id)
            await store.cancel(job_id, "anna")
            assert await store.start(job_id, "another") is None
            await store.sweep()
            assert await store.get(job_id, "anna") == document
            assert await all_events(store, job_id) == events
        await expect_lost(store, lease)

    async def test_of_many_ends_at_once_one_wins(self) -> None:
        store = await self.store()
        for _ in range(5):
            lease = await self.running(store)
            succeeded, failed, cancelled = await asyncio.gather(
                store.succeed(lease, RESULT), store.fail(lease, FAILURE), store.cancel(lease.job_id, "anna")
            )
            document = await store.get(lease.job_id, "anna")
            assert document == cancelled
            assert (succeeded, failed) == (document.status == "succeeded", document.status == "failed")
            assert sum(event.type == "finished" for event in await all_events(store, lease.job_id)) == 1

    async def test_cancelling_is_idempotent(self) -> None:
        store = await self.store()
        job_id = await self.queued(store)
        first = await store.cancel(job_id, "anna")
        assert first.status == "cancelled"
        assert await store.cancel(job_id, "anna") == first
        done = await self.succeeded(store)
        assert (await store.cancel(done, "anna")).status == "succeeded"

    async def test_a_sweep_times_out_what_was_not_started_in_time_and_only_that(self) -> None:
        store = await self.store()
        late = await self.queued(store, start_within_seconds=self.short_seconds)
        patient = await self.queued(store)
        begun = self.new_job(start_within_seconds=self.short_seconds)
        await store.create(begun)
        await started(store, begun.id)
        await self.let_pass(self.short_seconds)
        assert (await store.sweep()).timed_out == [late]
        assert (await store.sweep()).timed_out == []
        error = (await store.get(late, "anna")).error
        assert error is not None
        assert (error.code, error.error, error.retryable) == ("start_timeout", "StartTimeoutError", True)
        assert (await store.get(patient, "anna")).status == "queued"
        assert (await store.get(begun.id, "anna")).status == "running"

    async def test_a_sweep_finds_what_nobody_runs_any_more(self) -> None:
        store = await self.store(lease_seconds=self.short_seconds)
        silent, released = await self.running(store), await self.running(store)
        await store.release(released)
        await self.let_pass(self.short_seconds)
        alive = await self.running(store)
        await self.queued(store)
        await self.succeeded(store)
        assert set((await store.sweep()).lapsed) == {silent.job_id, released.job_id}
        await started(store, silent.job_id)
        await started(store, released.job_id)
        assert (await store.sweep()).lapsed == []
        assert await store.succeed(alive, RESULT)

    async def test_a_job_is_gone_with_a_lease_that_is_still_used(self) -> None:
        store = await self.store()
        lease = await self.running(store)
        await store.cancel(lease.job_id, "anna")
        await store.forget(lease.job_id)
        await returns_after_loss(store, lease)
        assert not await store.renew(lease)
        assert not await store.succeed(lease, RESULT)
        assert not await store.scored(lease.job_id, batch(1), outcome(0.1, "t1-0"))
        await store.release(lease)
        with pytest.raises(ReMeError):
            await store.get(lease.job_id, None)
