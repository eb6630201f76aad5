"""After an outage nobody's lease lapses that could not have been renewed."""

import time

import fakeredis
import pytest
from execution_models import body_of, request_of
from reme_workers import sweeping
from reme_workers.redis_store import RedisStore

from reme_compact.contract.errors import StoreUnavailableError
from reme_compact.jobs.clock import utc_now
from reme_compact.jobs.identity import new_job_id
from reme_compact.jobs.record import Lease, NewJob
from reme_compact.jobs.store import StoreLimits

pytestmark = pytest.mark.anyio

LEASE_SECONDS = 3


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed = 0.0
        server_time, own_time = time.time, time.monotonic
        monkeypatch.setattr(time, "time", lambda: server_time() + self.passed)
        monkeypatch.setattr(sweeping, "monotonic", lambda: own_time() + self.passed)


async def started(store: RedisStore) -> Lease:
    request = request_of(1)
    job_id = new_job_id(utc_now())
    await store.create(NewJob(job_id, "compact_context", "anna", request, body_of(request), 60))
    lease = await store.start(job_id, "test")
    assert lease is not None
    return lease


async def test_only_a_lease_that_was_renewed_since_an_outage_lapses_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    server = fakeredis.FakeServer()
    limits = StoreLimits(100, 2**26, results_expire_after_seconds=60, lease_seconds=LEASE_SECONDS)
    store = RedisStore(fakeredis.FakeAsyncRedis(server=server), limits, patience_seconds=0.01)
    cut_off, renewed = await started(store), await started(store)

    server.connected = False
    clock.passed += LEASE_SECONDS
    with pytest.raises(StoreUnavailableError):
        await store.sweep()
    server.connected = True
    assert (await store.sweep()).lapsed == []

    assert await store.renew(renewed)
    clock.passed += LEASE_SECONDS + 0.1
    assert (await store.sweep()).lapsed == [renewed.job_id]
    clock.passed += 1
    assert (await store.sweep()).lapsed == [cut_off.job_id]


async def test_without_an_outage_every_lease_lapses_in_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    limits = StoreLimits(100, 2**26, results_expire_after_seconds=60, lease_seconds=LEASE_SECONDS)
    store = RedisStore(fakeredis.FakeAsyncRedis(server=fakeredis.FakeServer()), limits)
    lease = await started(store)
    assert (await store.sweep()).lapsed == []
    clock.passed += LEASE_SECONDS + 0.1
    assert (await store.sweep()).lapsed == [lease.job_id]
