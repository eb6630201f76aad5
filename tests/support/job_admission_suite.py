"""What a store accepts, and what it refuses, also when everybody comes at once."""

import asyncio
import secrets

import pytest
from job_store_base import JobStoreBase, other_body, started

from reme_compact.contract.errors import (
    IdempotencyConflictError,
    JobExpiredError,
    ReMeError,
    RequestTooLargeError,
    StorageFullError,
    TooBusyError,
    TooManyJobsError,
)
from reme_compact.jobs.record import Accepted, NewJob
from reme_compact.jobs.store import JobStore


async def create_at_once(store: JobStore, jobs: list[NewJob]) -> tuple[list[Accepted], list[BaseException]]:
    answers = await asyncio.gather(*(store.create(job) for job in jobs), return_exceptions=True)
    accepted = [answer for answer in answers if isinstance(answer, Accepted)]
    return accepted, [answer for answer in answers if isinstance(answer, BaseException)]


class JobAdmissionSuite(JobStoreBase):
    """Limits and idempotency of `JobStore.create`."""

    async def test_a_new_job_is_queued(self) -> None:
        store = await self.store()
        job = self.new_job(start_within_seconds=60)
        accepted = await store.create(job)
        document = accepted.document
        assert accepted.is_new
        assert (document.id, document.job, document.status) == (job.id, "compact_context", "queued")
        assert (document.started_at, document.finished_at, document.expires_at, document.error) == (None,) * 4
        assert (accepted.start_before - document.created_at).total_seconds() == pytest.approx(60, abs=0.01)
        assert await store.get(job.id, "anna") == document

    async def test_no_more_jobs_than_allowed_are_unfinished(self) -> None:
        store = await self.store(max_active_jobs=2)
        first = await self.queued(store)
        lease = await self.running(store, "ben")
        with pytest.raises(TooBusyError):
            await store.create(self.new_job("carl"))
        await store.cancel(first, "anna")
        await store.create(self.new_job("carl"))
        with pytest.raises(TooBusyError):
            await store.create(self.new_job("carl"))
        await store.succeed(lease, [b"{}"])
        await store.create(self.new_job("carl"))

    async def test_an_owner_has_no_more_unfinished_jobs_than_it_may(self) -> None:
        store = await self.store()
        first = await self.queued(store)
        await store.create(self.new_job(max_active_of_owner=2))
        with pytest.raises(TooManyJobsError):
            await store.create(self.new_job(max_active_of_owner=2))
        await store.create(self.new_job("ben", max_active_of_owner=1))
        await store.cancel(first, "anna")
        await store.create(self.new_job(max_active_of_owner=2))

    async def test_what_was_not_started_in_time_gives_its_place_back(self) -> None:
        store = await self.store(max_active_jobs=1)
        await self.timed_out(store)
        await store.create(self.new_job())

    async def test_a_request_that_could_never_fit_is_refused_as_too_large(self) -> None:
        store = await self.store_for(0.9)
        with pytest.raises(RequestTooLargeError, match="max_stored_bytes"):
            await store.create(self.new_job(body=other_body()))
        assert (await store.figures()).stored_bytes == 0
        assert (await store.page(None, status=None, cursor=None, limit=10)).jobs == []

    async def test_a_request_that_does_not_fit_beside_unfinished_ones_is_refused(self) -> None:
        store = await self.store_for(2.5)
        waits = await self.queued(store)
        runs = await self.running(store)
        before = (await store.figures()).stored_bytes
        with pytest.raises(StorageFullError):
            await store.create(self.new_job(body=other_body()))
        assert (await store.figures()).stored_bytes == before
        assert (await store.get(waits, "anna")).status == "queued"
        assert await store.renew(runs)

    async def test_a_new_request_makes_the_oldest_finished_jobs_of_anybody_expire(self) -> None:
        roomy = await self.store()
        await self.finished_long_ago(roomy)
        finished = (await roomy.figures()).stored_bytes
        unfinished, _ = await self.sizes()
        store = await self.store(max_stored_bytes=3 * finished + unfinished - 200)
        oldest, middle, newest = [await self.finished_long_ago(store, owner) for owner in ("anna", "ben", "carl")]
        accepted = await store.create(self.new_job("dora", body=other_body()))
        with pytest.raises(JobExpiredError):
            await store.result(oldest, "anna")
        for kept, owner in ((middle, "ben"), (newest, "carl")):
            assert await store.result(kept, owner)
        assert (await store.get(accepted.document.id, "dora")).status == "queued"
        assert (await store.figures()).jobs["succeeded"] == 2

    async def test_one_owner_cannot_keep_others_out_with_what_is_finished(self) -> None:
        store = await self.store_for(2.5)
        for _ in range(6):
            await self.finished_long_ago(store, "greedy")
        assert (await store.create(self.new_job("anna", body=other_body()))).is_new

    async def test_what_finished_a_moment_ago_is_left_to_whoever_waits_for_it(self) -> None:
        store = await self.store_for(1.5)
        job = self.new_job(body=other_body())
        await store.create(job)
        await store.succeed(await started(store, job.id), [job.body])
        with pytest.raises(StorageFullError):
            await store.create(self.new_job("ben", body=other_body()))
        assert b"".join(await store.result(job.id, "anna")) == job.body
        await self.let_pass(self.short_seconds)
        assert (await store.create(self.new_job("ben", body=other_body()))).is_new

    async def test_nothing_expires_for_what_would_not_fit_anyway(self) -> None:
        store = await self.store_for(3.95)
        kept = await self.cancelled(store)
        await self.let_pass(self.short_seconds)
        for _ in range(3):
            await store.create(self.new_job(body=other_body()))
        with pytest.raises(StorageFullError):
            await store.create(self.new_job(body=other_body()))
        assert (await store.get(kept, "anna")).status == "cancelled"

    async def test_a_result_makes_the_oldest_finished_jobs_expire(self) -> None:
        unfinished, finished = await self.sizes()
        limit = 4 * unfinished
        store = await self.store(max_stored_bytes=limit)
        oldest, newer = await self.finished_long_ago(store), await self.finished_long_ago(store)
        job = self.new_job(body=other_body())
        await store.create(job)
        room = limit - (await store.figures()).stored_bytes + unfinished - finished
        result = [secrets.token_bytes(room + 500)]
        assert await store.succeed(await started(store, job.id), result)
        assert (await store.figures()).stored_bytes <= limit
        with pytest.raises(JobExpiredError):
            await store.get(oldest, "anna")
        assert await store.result(newer, "anna")
        assert await store.result(job.id, "anna") == result

    async def test_a_result_that_does_not_fit_at_all_makes_nothing_expire(self) -> None:
        store = await self.store_for(3.2)
        kept = await self.finished_long_ago(store)
        lease = await self.running(store)
        assert await store.succeed(lease, [secrets.token_bytes(100_000)])
        document = await store.get(lease.job_id, "anna")
        assert document.error is not None
        assert (document.status, document.error.code) == ("failed", StorageFullError.code)
        assert await store.result(kept, "anna")

    async def test_an_early_end_frees_the_idempotency_key_and_tells_watchers(self) -> None:
        store = await self.store_for(1.5)
        job = self.new_job(body=other_body(), idempotency_key="k")
        await store.create(job)
        await store.succeed(await started(store, job.id), [job.body])
        await self.let_pass(self.short_seconds)
        await store.create(self.new_job("ben", body=other_body()))
        await store.cancel((await store.page("ben", status=None, cursor=None, limit=1)).jobs[0].id, "ben")
        await self.let_pass(self.short_seconds)
        assert (await store.create(self.new_job(body=job.body, idempotency_key="k"))).is_new

    async def test_bytes_are_given_back(self) -> None:
        store = await self.store()
        job_id = await self.queued(store)
        assert (await store.figures()).stored_bytes > 0
        await store.succeed(await started(store, job_id), [b"x" * 10])
        await store.forget(job_id)
        assert (await store.figures()).stored_bytes == 0

    async def test_a_finished_job_counts_also_without_a_result(self) -> None:
        store = await self.store()
        unfinished = await self.queued(store)
        before = (await store.figures()).stored_bytes
        await store.cancel(unfinished, "anna")
        assert 0 < (await store.figures()).stored_bytes < before
        await store.forget(unfinished)
        assert (await store.figures()).stored_bytes == 0

    async def test_a_hundred_at_once_do_not_exceed_the_limit(self) -> None:
        store = await self.store(max_active_jobs=10)
        accepted, refused = await create_at_once(store, [self.new_job(f"owner{n % 7}") for n in range(100)])
        assert len(accepted) == 10
        assert {type(error) for error in refused} == {TooBusyError}
        assert (await store.figures()).jobs["queued"] == 10

    async def test_a_hundred_at_once_do_not_exceed_the_limit_of_their_owner(self) -> None:
        store = await self.store()
        jobs = [self.new_job(owner, max_active_of_owner=5) for owner in ("anna", "ben") * 50]
        accepted, refused = await create_at_once(store, jobs)
        assert len(accepted) == 10
        assert {type(error) for error in refused} == {TooManyJobsError}
        assert len((await store.page("anna", status=None, cursor=None, limit=100)).jobs) == 5

    async def test_a_hundred_at_once_do_not_exceed_the_storage(self) -> None:
        store = await self.store_for(10.5)
        accepted, refused = await create_at_once(store, [self.new_job(body=other_body()) for _ in range(100)])
        assert len(accepted) == 10
        assert {type(error) for error in refused} == {StorageFullError}

    async def test_the_same_key_and_body_mean_the_same_job(self) -> None:
        store = await self.store(max_active_jobs=1)
        first = await store.create(self.new_job(idempotency_key="k"))
        again = await store.create(self.new_job(idempotency_key="k", max_active_of_owner=1))
        assert first.is_new
        assert not again.is_new
        assert (again.document, again.start_before) == (first.document, first.start_before)

    async def test_a_key_means_its_job_also_when_that_is_finished(self) -> None:
        store = await self.store()
        job = self.new_job(idempotency_key="k")
        await store.create(job)
        await store.succeed(await started(store, job.id), [b"{}"])
        again = await store.create(self.new_job(idempotency_key="k"))
        assert (again.is_new, again.document.id, again.document.status) == (False, job.id, "succeeded")

    async def test_the_same_key_with_another_body_is_a_conflict(self) -> None:
        store = await self.store()
        first = await store.create(self.new_job(idempotency_key="k"))
        with pytest.raises(IdempotencyConflictError):
            await store.create(self.new_job(idempotency_key="k", body=other_body()))
        assert (await store.get(first.document.id, "anna")).status == "queued"

    async def test_a_key_is_its_owners_own(self) -> None:
        store = await self.store()
        await store.create(self.new_job("anna", idempotency_key="k"))
        other = await store.create(self.new_job("ben", idempotency_key="k", body=other_body()))
        assert other.is_new

    async def test_a_key_lives_as_long_as_its_job(self) -> None:
        store = await self.store(results_expire_after_seconds=self.short_seconds)
        first = self.new_job(idempotency_key="k")
        await store.create(first)
        await store.cancel(first.id, "anna")
        await store.forget(first.id)
        second = await store.create(self.new_job(idempotency_key="k", body=other_body()))
        assert second.is_new
        await store.cancel(second.document.id, "anna")
        await self.let_pass(self.short_seconds)
        assert (await store.create(self.new_job(idempotency_key="k"))).is_new

    async def test_many_at_once_with_one_key_are_one_job(self) -> None:
        store = await self.store()
        accepted, refused = await create_at_once(store, [self.new_job(idempotency_key="k") for _ in range(50)])
        assert not refused
        assert len({answer.document.id for answer in accepted}) == 1
        assert sum(answer.is_new for answer in accepted) == 1

    async def test_many_at_once_with_one_key_and_other_bodies_are_one_job(self) -> None:
        store = await self.store()
        bodies = [other_body() for _ in range(20)]
        accepted, refused = await create_at_once(
            store, [self.new_job(idempotency_key="k", body=body) for body in bodies]
        )
        assert len(accepted) == 1
        assert {type(error) for error in refused} == {IdempotencyConflictError}

    async def test_a_refused_job_leaves_its_key_free(self) -> None:
        store = await self.store(max_active_jobs=1)
        blocking = await self.queued(store)
        with pytest.raises(ReMeError):
            await store.create(self.new_job(idempotency_key="k"))
        await store.cancel(blocking, "anna")
        assert (await store.create(self.new_job(idempotency_key="k", body=other_body()))).is_new
