"""What the conformance tests of a `JobStore` build on: a store with chosen limits, a clock, and jobs."""

import secrets
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import count

import orjson
import pytest

from reme_compact.contract.errors import ErrorFields
from reme_compact.contract.job import JobEvent
from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.batching import Batch
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.decision.verdicts import Verdict
from reme_compact.jobs.clock import utc_now
from reme_compact.jobs.identity import new_job_id
from reme_compact.jobs.record import Lease, NewJob
from reme_compact.jobs.store import JobStore, StoreLimits

FAILURE = ErrorFields(code="odd", error="OddError", message="It is odd.", retryable=True)
BODY = orjson.dumps(CompactionRequest.example)
REQUEST = CompactionRequest.parse(CompactionRequest.example)
RESULT = [b'{"answer":', b"{}}"]


def batch(number: int, units: int = 1) -> Batch:
    """Return a batch about units of its own."""
    ids = [f"t{number}-{unit}" for unit in range(units)]
    return Batch(state={"number": number}, unit_ids=ids, state_tokens=1)


def outcome(probability: float, *units: str) -> BatchOutcome:
    """Return an answered outcome."""
    return BatchOutcome({unit: Verdict(probability) for unit in units}, usage={"input_tokens": 1})


def other_body() -> bytes:
    """Return a valid request that nobody sent before, of a length that compression does not change much."""
    return orjson.dumps({**CompactionRequest.example, "goal": secrets.token_hex(500)})


def request_body(**options: float) -> bytes:
    """Return a valid request with some options."""
    return orjson.dumps({**CompactionRequest.example, "options": {**CompactionRequest.example["options"], **options}})


class JobStoreBase:
    """Make stores for tests. A subclass overrides `make_store` and, for a real server, the other two as well.

    Attributes:
        short_seconds: a time that is let pass; everything else lasts for hours.
    """

    pytestmark = pytest.mark.anyio

    short_seconds: float = 5.0
    _numbers = count()

    async def make_store(self, limits: StoreLimits) -> JobStore:
        """Return an empty store."""
        raise NotImplementedError

    async def let_pass(self, seconds: float) -> None:
        """Let a little more than so many seconds pass."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    async def closed_stores(self) -> AsyncIterator[None]:
        self._stores: list[JobStore] = []
        yield
        for store in self._stores:
            await store.aclose()

    async def store(
        self,
        *,
        max_active_jobs: int = 1000,
        max_stored_bytes: int = 10**9,
        results_expire_after_seconds: float = 3600,
        lease_seconds: float = 3600,
    ) -> JobStore:
        limits = StoreLimits(
            max_active_jobs,
            max_stored_bytes,
            results_expire_after_seconds,
            lease_seconds,
            unread_seconds=self.short_seconds,
        )
        store = await self.make_store(limits)
        self._stores.append(store)
        return store

    def new_job(
        self,
        owner: str = "anna",
        *,
        body: bytes = BODY,
        start_within_seconds: float = 3600,
        runs_from_acceptance: bool = False,
        idempotency_key: str | None = None,
        max_active_of_owner: int | None = None,
    ) -> NewJob:
        """Return a job to be created; each is newer than the one before."""
        return NewJob(
            id=new_job_id(utc_now() + timedelta(milliseconds=next(self._numbers))),
            job="compact_context",
            owner=owner,
            request=CompactionRequest.parse(orjson.loads(body)),
            body=body,
            start_within_seconds=start_within_seconds,
            runs_from_acceptance=runs_from_acceptance,
            idempotency_key=idempotency_key,
            max_active_of_owner=max_active_of_owner,
        )

    async def store_for(self, jobs: float) -> JobStore:
        """Return a store whose bytes suffice for so many unfinished jobs with an `other_body`."""
        return await self.store(max_stored_bytes=int(jobs * (await self.sizes())[0]))

    async def sizes(self) -> tuple[int, int]:
        """Return the stored bytes of a job with an `other_body`: unfinished, and finished without a result."""
        store = await self.store()
        job = self.new_job(body=other_body())
        await store.create(job)
        unfinished = (await store.figures()).stored_bytes
        await store.cancel(job.id, None)
        return unfinished, (await store.figures()).stored_bytes

    async def finished_long_ago(self, store: JobStore, owner: str = "anna") -> str:
        """Create a job that succeeds with a result as large as its request, and that had time to be read."""
        job = self.new_job(owner, body=other_body())
        await store.create(job)
        assert await store.succeed(await started(store, job.id), [job.body])
        await self.let_pass(self.short_seconds)
        return job.id

    async def queued(self, store: JobStore, owner: str = "anna", *, start_within_seconds: float = 3600) -> str:
        """Create a job and return its id."""
        accepted = await store.create(self.new_job(owner, start_within_seconds=start_within_seconds))
        return accepted.document.id

    async def running(self, store: JobStore, owner: str = "anna") -> Lease:
        """Create and start a job."""
        return await started(store, await self.queued(store, owner))

    async def succeeded(self, store: JobStore, owner: str = "anna") -> str:
        """Create a job that succeeds."""
        lease = await self.running(store, owner)
        assert await store.succeed(lease, RESULT)
        return lease.job_id

    async def failed(self, store: JobStore, owner: str = "anna") -> str:
        """Create a job that fails."""
        lease = await self.running(store, owner)
        assert await store.fail(lease, FAILURE)
        return lease.job_id

    async def cancelled(self, store: JobStore, owner: str = "anna") -> str:
        """Create a job that is cancelled while it runs."""
        lease = await self.running(store, owner)
        await store.cancel(lease.job_id, owner)
        return lease.job_id

    async def timed_out(self, store: JobStore, owner: str = "anna") -> str:
        """Create a job that is not started in time."""
        job_id = await self.queued(store, owner, start_within_seconds=self.short_seconds)
        await self.let_pass(self.short_seconds)
        await store.sweep()
        return job_id

    async def one_of_each(self, store: JobStore) -> dict[str, str]:
        """Create a finished job of every final status."""
        return {
            "timed_out": await self.timed_out(store),
            "succeeded": await self.succeeded(store),
            "failed": await self.failed(store),
            "cancelled": await self.cancelled(store),
        }


async def started(store: JobStore, job_id: str, holder: str = "a worker") -> Lease:
    """Start a job that can be started."""
    lease = await store.start(job_id, holder)
    assert lease is not None
    return lease


async def all_events(
    store: JobStore, job_id: str, owner: str | None = "anna", after: str | None = None
) -> list[JobEvent]:
    """Watch a job to its end."""
    return [event async for event in store.events(job_id, owner, after)]
