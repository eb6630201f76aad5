"""What an owner, a stranger and an administrator can read."""

from typing import TypeAlias

import pytest
from job_store_base import FAILURE, RESULT, JobStoreBase, all_events

from reme_compact.contract.errors import (
    InvalidRequestError,
    JobCancelledError,
    JobExpiredError,
    JobNotFinishedError,
    JobNotFoundError,
    ReportedError,
)
from reme_compact.contract.job import FINAL_STATUSES, JOB_STATUSES, JobStatus
from reme_compact.jobs.store import JobStore

Gone: TypeAlias = type[Exception] | tuple[type[Exception], ...]
GONE = (JobNotFoundError, JobExpiredError)


async def ids(store: JobStore, owner: str | None, status: JobStatus | None = None) -> list[str]:
    return [job.id for job in (await store.page(owner, status=status, cursor=None, limit=100)).jobs]


async def expect_unknown(store: JobStore, job_id: str, owner: str | None, error: Gone) -> None:
    with pytest.raises(error):
        await store.get(job_id, owner)
    with pytest.raises(error):
        await store.result(job_id, owner)
    with pytest.raises(error):
        await store.cancel(job_id, owner)
    with pytest.raises(error):
        await all_events(store, job_id, owner)


class JobReadingSuite(JobStoreBase):
    """`get`, `page`, `result`, isolation and expiry."""

    async def test_a_job_of_somebody_else_does_not_exist(self) -> None:
        store = await self.store()
        for job_id in (await self.queued(store), (await self.running(store)).job_id, await self.succeeded(store)):
            before = await store.get(job_id, "anna")
            await expect_unknown(store, job_id, "ben", JobNotFoundError)
            assert await store.get(job_id, "anna") == before
        assert await ids(store, "ben") == []

    async def test_what_never_was_does_not_exist(self) -> None:
        store = await self.store()
        never = self.new_job().id
        await expect_unknown(store, never, "anna", JobNotFoundError)
        await expect_unknown(store, never, None, JobNotFoundError)
        await store.forget(never)

    async def test_an_administrator_sees_everybodys_jobs(self) -> None:
        store = await self.store()
        annas, bens = await self.succeeded(store, "anna"), await self.queued(store, "ben")
        assert await ids(store, None) == [bens, annas]
        assert b"".join(await store.result(annas, None)) == b"".join(RESULT)
        assert (await store.cancel(bens, None)).status == "cancelled"
        assert (await all_events(store, bens, None))[-1].type == "finished"

    async def test_the_response_of_a_job_that_succeeded(self) -> None:
        store = await self.store()
        assert b"".join(await store.result(await self.succeeded(store), "anna")) == b"".join(RESULT)

    async def test_a_large_response_comes_back_as_it_was(self) -> None:
        store = await self.store()
        lease = await self.running(store)
        pieces = [bytes([65 + n]) * 300_000 for n in range(5)]
        assert await store.succeed(lease, pieces)
        assert b"".join(await store.result(lease.job_id, "anna")) == b"".join(pieces)

    async def test_there_is_no_result_before_the_end(self) -> None:
        store = await self.store()
        for job_id in (await self.queued(store), (await self.running(store)).job_id):
            with pytest.raises(JobNotFinishedError):
                await store.result(job_id, "anna")

    async def test_a_job_without_a_result_says_why(self) -> None:
        store = await self.store()
        jobs = await self.one_of_each(store)
        with pytest.raises(JobCancelledError):
            await store.result(jobs["cancelled"], "anna")
        with pytest.raises(ReportedError) as failed:
            await store.result(jobs["failed"], "anna")
        assert failed.value.fields() == FAILURE
        with pytest.raises(ReportedError) as timed_out:
            await store.result(jobs["timed_out"], "anna")
        assert (timed_out.value.code, timed_out.value.retryable) == ("start_timeout", True)

    async def test_a_document_says_how_and_when_it_ended(self) -> None:
        store = await self.store(results_expire_after_seconds=600)
        for status, job_id in (await self.one_of_each(store)).items():
            document = await store.get(job_id, "anna")
            assert document.status == status
            assert document.finished_at is not None
            assert document.expires_at is not None
            assert (document.expires_at - document.finished_at).total_seconds() == pytest.approx(600, abs=0.01)
            assert (document.error is None) == (status in {"succeeded", "cancelled"})
            assert (document.started_at is None) == (status == "timed_out")

    async def test_jobs_are_listed_newest_first_in_pages(self) -> None:
        store = await self.store()
        created = [await self.queued(store) for _ in range(7)]
        await self.queued(store, "ben")
        seen: list[str] = []
        cursor = None
        sizes = []
        while True:
            page = await store.page("anna", status=None, cursor=cursor, limit=3)
            seen += [job.id for job in page.jobs]
            sizes.append(len(page.jobs))
            cursor = page.next_cursor
            if cursor is None:
                break
        assert seen == created[::-1]
        assert sizes == [3, 3, 1]

    async def test_the_last_page_says_so_even_if_it_is_full(self) -> None:
        store = await self.store()
        for _ in range(2):
            await self.queued(store)
        assert (await store.page("anna", status=None, cursor=None, limit=2)).next_cursor is None

    async def test_jobs_are_listed_by_status(self) -> None:
        store = await self.store()
        jobs = await self.one_of_each(store)
        jobs["queued"] = await self.queued(store)
        jobs["running"] = (await self.running(store)).job_id
        for status in JOB_STATUSES:
            assert await ids(store, "anna", status) == [jobs[status]]
            assert await ids(store, "ben", status) == []

    async def test_pages_of_one_status_skip_the_others(self) -> None:
        store = await self.store()
        queued = []
        for _ in range(4):
            queued.append(await self.queued(store))
            await self.cancelled(store)
        first = await store.page("anna", status="queued", cursor=None, limit=2)
        assert first.next_cursor is not None
        second = await store.page("anna", status="queued", cursor=first.next_cursor, limit=2)
        assert [job.id for job in (*first.jobs, *second.jobs)] == queued[::-1]
        assert second.next_cursor is None

    async def test_a_page_goes_on_where_it_ended_even_if_that_job_is_gone(self) -> None:
        store = await self.store()
        oldest, middle, _ = await self.queued(store), await self.cancelled(store), await self.queued(store)
        page = await store.page("anna", status=None, cursor=None, limit=2)
        await store.forget(middle)
        await self.queued(store)
        rest = await store.page("anna", status=None, cursor=page.next_cursor, limit=2)
        assert [job.id for job in rest.jobs] == [oldest]

    @pytest.mark.parametrize("cursor", ["", "x", "0", "../secret", "é" * 33, "0" * 33, "\ud800"])
    async def test_a_cursor_that_is_none_is_refused(self, cursor: str) -> None:
        store = await self.store()
        with pytest.raises(InvalidRequestError):
            await store.page("anna", status=None, cursor=cursor, limit=10)

    async def test_an_expired_job_is_known_to_have_been_its_owners(self) -> None:
        store = await self.store(results_expire_after_seconds=self.short_seconds)
        job_id = await self.succeeded(store)
        await self.let_pass(self.short_seconds)
        await store.sweep()
        await expect_unknown(store, job_id, "anna", JobExpiredError)
        await expect_unknown(store, job_id, None, JobExpiredError)
        await expect_unknown(store, job_id, "ben", JobNotFoundError)
        assert await ids(store, None) == []
        assert (await store.figures()).stored_bytes == 0

    async def test_expiry_needs_no_sweep(self) -> None:
        store = await self.store(results_expire_after_seconds=self.short_seconds)
        job_id = await self.succeeded(store)
        await self.let_pass(self.short_seconds)
        with pytest.raises(JobExpiredError):
            await store.result(job_id, "anna")

    async def test_whose_an_expired_job_was_is_forgotten_at_last(self) -> None:
        store = await self.store(results_expire_after_seconds=self.short_seconds)
        job_id = await self.succeeded(store)
        await self.let_pass(self.short_seconds)
        await store.sweep()
        await self.let_pass(self.short_seconds)
        await store.sweep()
        await expect_unknown(store, job_id, "anna", JobNotFoundError)

    async def test_unfinished_jobs_do_not_expire(self) -> None:
        store = await self.store(results_expire_after_seconds=self.short_seconds)
        queued, lease = await self.queued(store), await self.running(store)
        await self.let_pass(self.short_seconds)
        await store.sweep()
        assert await ids(store, "anna") == [lease.job_id, queued]
        assert await store.succeed(lease, RESULT)

    async def test_a_finished_job_can_be_forgotten_at_once(self) -> None:
        store = await self.store()
        for job_id in (await self.one_of_each(store)).values():
            await store.forget(job_id)
            await expect_unknown(store, job_id, "anna", GONE)
        assert await ids(store, None) == []
        figures = await store.figures()
        assert figures.stored_bytes == 0
        assert not any(figures.jobs[status] for status in FINAL_STATUSES)

    async def test_an_unfinished_job_cannot_be_forgotten(self) -> None:
        store = await self.store()
        queued, lease = await self.queued(store), await self.running(store)
        for job_id in (queued, lease.job_id):
            await store.forget(job_id)
        assert await ids(store, "anna") == [lease.job_id, queued]

    async def test_figures_count_jobs_by_status(self) -> None:
        store = await self.store()
        await self.one_of_each(store)
        await self.running(store)
        await self.queued(store)
        await self.queued(store, "ben")
        assert (await store.figures()).jobs == {status: 2 if status == "queued" else 1 for status in JOB_STATUSES}
