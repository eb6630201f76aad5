"""Jobs in Redis over a real server: the suite of every store, and what only a real server can show."""

import asyncio
import statistics
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic

import pytest
import redis
from job_store_base import BODY, RESULT, JobStoreBase, all_events, batch, outcome, started
from job_store_suite import JobStoreSuite
from pydantic import SecretStr
from redis_fixtures import keys_without_expiry, settings_for, until, wait_until_up_for
from reme_workers.keys import PERMANENT_NAMES
from reme_workers.redis_server import RedisServer
from reme_workers.redis_store import RedisStore

from reme_compact.contract.errors import JobNotFoundError, StoreUnavailableError
from reme_compact.contract.job import JobEvent
from reme_compact.jobs.store import StoreLimits
from reme_compact.presets.schema import RedisSettings

LIMITS = StoreLimits(max_active_jobs=1000, max_stored_bytes=10**9, results_expire_after_seconds=3600, lease_seconds=0.6)


@asynccontextmanager
async def store_on(
    settings: RedisSettings, limits: StoreLimits = LIMITS, *, patience_seconds: float = 1.0
) -> AsyncIterator[RedisStore]:
    store = RedisStore.from_settings(settings, limits, patience_seconds=patience_seconds)
    try:
        yield store
    finally:
        await store.aclose()


async def finds_lapsed(store: RedisStore, job_id: str) -> bool:
    return job_id in (await store.sweep()).lapsed


async def no_keys(client: redis.Redis, pattern: str) -> bool:
    return not any(client.scan_iter(pattern))


class TestRedisStore(JobStoreSuite):
    short_seconds = 0.6

    @pytest.fixture(autouse=True)
    def server(self, redis_server: RedisServer) -> None:
        self._server = redis_server

    async def make_store(self, limits: StoreLimits) -> RedisStore:
        # Leases do not lapse before the server has run for as long as one.
        await wait_until_up_for(self._server, 2)
        return RedisStore.from_settings(settings_for(self._server), limits)

    async def let_pass(self, seconds: float) -> None:
        await asyncio.sleep(seconds + 0.02)


class TestRedisStoreAlone(JobStoreBase):
    """What a store in Redis promises beyond the suite."""

    async def busy_run(self, store: RedisStore) -> None:
        """Do everything to a job that can be done to one."""
        await store.create(self.new_job("anna", idempotency_key="k"))
        lease = await self.running(store)
        await store.planned(lease, candidates=2, asked=2, batches=2)
        await store.scored(lease.job_id, batch(1), outcome(0.1, "t1-0"))
        await store.renew(lease)
        await store.release(lease)
        lease = await started(store, lease.job_id)
        await store.scored(lease.job_id, batch(2), outcome(0.2, "t2-0"))
        await store.deciding(lease)
        await store.succeed(lease, RESULT)
        await self.running(store, "ben")
        await self.cancelled(store, "carl")
        await self.failed(store)
        await store.sweep()

    async def test_every_key_expires_or_is_a_permanent_one(self, redis_server: RedisServer) -> None:
        settings = settings_for(redis_server)
        async with store_on(settings) as store:
            await self.busy_run(store)
        kept = keys_without_expiry(redis_server, settings.key_prefix)
        assert kept
        assert kept <= set(PERMANENT_NAMES)

    async def test_nothing_is_left_when_everything_has_expired(self, redis_server: RedisServer) -> None:
        settings = settings_for(redis_server)
        async with store_on(settings, StoreLimits(1000, 10**9, 0.2, 60)) as store:
            for _ in range(3):
                await self.succeeded(store)
            with redis.Redis.from_url(redis_server.url) as client:
                await until(partial(no_keys, client, f"{settings.key_prefix}job:*"))
                assert (await store.sweep()).removed == 3
                left = {
                    key.decode().removeprefix(settings.key_prefix)
                    for key in client.scan_iter(f"{settings.key_prefix}*")
                }
            assert left == {"stored_bytes"}
            assert (await store.figures()).stored_bytes == 0

    async def test_deployments_with_other_prefixes_do_not_see_each_other(self, redis_server: RedisServer) -> None:
        # The second prefix would match the first one if it were taken for a pattern.
        settings = [settings_for(redis_server, prefix) for prefix in ("one*:", "one[*]:")]
        async with store_on(settings[0]) as one, store_on(settings[1]) as other:
            job_id = await self.queued(one)
            with pytest.raises(JobNotFoundError):
                await other.get(job_id, None)
            assert (await other.page(None, status=None, cursor=None, limit=10)).jobs == []
            assert await other.start(job_id, "a worker") is None
            assert not any((await other.figures()).jobs.values())

    async def test_fifty_clients_at_once_get_one_answer(self, redis_server: RedisServer) -> None:
        settings = settings_for(redis_server)
        stores = [RedisStore.from_settings(settings, LIMITS) for _ in range(50)]
        try:
            job_id = await self.queued(stores[0])
            leases = [lease for lease in await asyncio.gather(*(s.start(job_id, "w") for s in stores)) if lease]
            assert len(leases) == 1
            won = await asyncio.gather(*(s.scored(job_id, batch(n % 5), outcome(0.1)) for n, s in enumerate(stores)))
            assert sum(won) == 5
            ends = await asyncio.gather(*(s.succeed(leases[0], RESULT) for s in stores[1:]))
            assert sum(ends) == 1
            types = [event.type for event in await all_events(stores[0], job_id)]
            assert types == ["queued", "started", *["batch_scored"] * 5, "finished"]
        finally:
            for store in stores:
                await store.aclose()

    async def test_a_server_that_forgot_the_scripts_is_told_them_again(self, redis_server: RedisServer) -> None:
        async with store_on(settings_for(redis_server)) as store:
            job_id = await self.queued(store)
            with redis.Redis.from_url(redis_server.url) as client:
                client.script_flush()
            assert await store.succeed(await started(store, job_id), RESULT)

    async def test_a_job_without_a_worker_says_so(self, redis_server: RedisServer) -> None:
        there: list[str] = []

        async def has_jobs_worker() -> bool:
            return bool(there)

        async with store_on(settings_for(redis_server)) as store:
            job_id = await self.queued(store)
            assert (await store.get(job_id, "anna")).waiting_for is None
            store.has_jobs_worker = has_jobs_worker
            assert (await store.get(job_id, "anna")).waiting_for == "worker"
            there.append("a worker")
            assert (await store.get(job_id, "anna")).waiting_for is None

    async def test_a_hundred_waiters_share_one_connection_and_hear_at_once(self, redis_server: RedisServer) -> None:
        settings = settings_for(redis_server)
        async with store_on(settings) as watching, store_on(settings) as acting:
            jobs = [await self.queued(acting) for _ in range(100)]
            all_wait = asyncio.Event()
            heard: list[float] = []
            rung_at: dict[str, float] = {}

            async def watch(job_id: str) -> None:
                async for event in watching.events(job_id, "anna", None):
                    if event.type == "queued":
                        waiting.append(job_id)
                        if len(waiting) == len(jobs):
                            all_wait.set()
                    if event.type == "finished":
                        heard.append(monotonic() - rung_at[job_id])

            waiting: list[str] = []
            tasks = [asyncio.create_task(watch(job_id)) for job_id in jobs]
            await all_wait.wait()
            with redis.Redis.from_url(redis_server.url) as client:
                assert client.pubsub_numpat() == 1
            for job_id in jobs:
                rung_at[job_id] = monotonic()
                await acting.cancel(job_id, "anna")
            await asyncio.gather(*tasks)
            assert len(heard) == 100
            print(f"doorbell p50 {statistics.median(heard) * 1000:.2f} ms, longest {max(heard) * 1000:.2f} ms")

    async def test_jobs_survive_a_killed_server_and_watchers_go_on(self, durable_server: RedisServer) -> None:
        settings = settings_for(durable_server)
        async with store_on(settings, patience_seconds=10) as store:
            done = await self.succeeded(store)
            lease = await self.running(store)
            await store.planned(lease, candidates=2, asked=2, batches=2)
            await store.scored(lease.job_id, batch(1), outcome(0.1, "t1-0"))
            seen: list[JobEvent] = []
            watched = asyncio.Event()

            async def watch() -> None:
                async for event in store.events(lease.job_id, "anna", None):
                    seen.append(event)
                    watched.set()

            watching = asyncio.create_task(watch())
            losing = asyncio.create_task(store.lost(lease))
            await watched.wait()
            durable_server.kill()
            renewing = asyncio.create_task(store.renew(lease))
            await asyncio.to_thread(durable_server.start)
            # The lease lapsed with the server away; its holder still has it, and nobody is told otherwise.
            assert (await store.sweep()).lapsed == []
            assert await renewing
            assert not losing.done()
            await store.scored(lease.job_id, batch(2), outcome(0.2, "t2-0"))
            assert not await store.scored(lease.job_id, batch(1), outcome(0.9, "t1-0"))
            assert set(await store.outcomes(lease.job_id, [batch(1).key(), batch(2).key()])) == {
                batch(1).key(),
                batch(2).key(),
            }
            assert await store.succeed(lease, RESULT)
            async with asyncio.timeout(20):
                await watching
                await losing
            types = [event.type for event in seen]
            assert types == ["queued", "started", "planned", "batch_scored", "batch_scored", "finished"]
            assert b"".join(await store.result(done, "anna")) == b"".join(RESULT)

    async def test_after_a_restart_a_dead_holders_job_is_found_a_lease_later(self, durable_server: RedisServer) -> None:
        settings = settings_for(durable_server)
        async with store_on(settings, patience_seconds=10) as store:
            lease = await self.running(store)
            durable_server.kill()
            await asyncio.to_thread(durable_server.start)
            await wait_until_up_for(durable_server, 1)
            await until(partial(finds_lapsed, store, lease.job_id))
            # Who found it hands it over; nobody else does so at once.
            assert (await store.sweep()).lapsed == []

    async def test_a_silent_holders_job_is_found_at_its_deadline(self, redis_server: RedisServer) -> None:
        await wait_until_up_for(redis_server, 4)
        body = BODY.replace(b'"preserve_recent_messages":1', b'"total_timeout_seconds":0.1')
        limits = StoreLimits(10, 10**9, 3600, 2.0)
        async with store_on(settings_for(redis_server), limits) as store:
            job = self.new_job(body=body)
            assert job.request.options.total_timeout_seconds == 0.1
            await store.create(job)
            lease = await started(store, job.id)
            await until(partial(finds_lapsed, store, job.id))
            again = await started(store, job.id, "another")
            assert not await store.renew(lease)
            assert 0.1 < again.running_seconds < limits.lease_seconds

    async def test_a_lost_server_is_said_and_a_new_one_is_used(self, durable_server: RedisServer) -> None:
        async with store_on(settings_for(durable_server), patience_seconds=0.2) as store:
            job_id = await self.queued(store)
            durable_server.kill()
            for operation in (store.get(job_id, "anna"), store.sweep(), store.create(self.new_job())):
                with pytest.raises(StoreUnavailableError) as unavailable:
                    await operation
                assert str(durable_server.socket_path) not in unavailable.value.message
            await asyncio.to_thread(durable_server.start)
            assert (await store.get(job_id, "anna")).status == "queued"
            assert await store.succeed(await started(store, job_id), RESULT)

    async def test_wrong_credentials_are_said_without_them(self, redis_server: RedisServer) -> None:
        url = SecretStr(f"unix://somebody:secret-word@{redis_server.socket_path}")
        async with store_on(RedisSettings(url=url)) as store:
            with pytest.raises(StoreUnavailableError, match="credentials") as refused:
                await store.figures()
        assert "secret-word" not in refused.value.message
        assert "somebody" not in refused.value.message


class TestRestrictedUser(JobStoreBase):
    """The rights that the operator's page names are enough for everything that a store does."""

    async def test_everything_can_be_done(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        user = (
            "user worker on >word resetkeys ~cx:* resetchannels &* +@read +@write +@pubsub +@transaction "
            "+@connection +@scripting +@blocking -@dangerous +info +time"
        )
        directory = tmp_path_factory.mktemp("acl")
        with RedisServer(directory, configuration=[user, "user default off"]) as server:
            url = SecretStr(f"unix://worker:word@{server.socket_path}")
            limits = StoreLimits(1000, 10**9, 3600, 0.5)
            async with store_on(RedisSettings(url=url, key_prefix="cx:"), limits) as store:
                await TestRedisStoreAlone.busy_run(self, store)  # type: ignore[arg-type]
                lease = await self.running(store)
                await until(partial(finds_lapsed, store, lease.job_id))
                job_id = await self.queued(store)
                watching = asyncio.create_task(all_events(store, job_id))
                await store.cancel(job_id, "anna")
                assert (await watching)[-1].type == "finished"
                await store.forget(job_id)
                assert (await store.page("anna", status="succeeded", cursor=None, limit=10)).jobs
                assert sum((await store.figures()).jobs.values()) > 0
            async with store_on(RedisSettings(url=url, key_prefix="elsewhere:")) as store:
                with pytest.raises(StoreUnavailableError, match="ACL"):
                    await store.create(self.new_job())
