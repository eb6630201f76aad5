"""Jobs in Redis: the suite of every store, over a stand-in for the server that runs in this process."""

import time

import fakeredis
import pytest
from job_store_suite import JobStoreSuite
from reme_workers.redis_store import RedisStore

from reme_compact.jobs.store import StoreLimits


class TestRedisStoreOverAStandIn(JobStoreSuite):
    @pytest.fixture(autouse=True)
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._passed = 0.0
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + self._passed)

    async def make_store(self, limits: StoreLimits) -> RedisStore:
        return RedisStore(fakeredis.FakeAsyncRedis(server=fakeredis.FakeServer()), limits)

    async def let_pass(self, seconds: float) -> None:
        self._passed += seconds + 0.01
