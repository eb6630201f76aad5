"""The distributed deployment in one process: real coordinators and scores processes, stand-ins for Redis and Celery."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any

import anyio
import fakeredis
from reme_workers.batch_messages import pack_batch
from reme_workers.claims import Claims
from reme_workers.heartbeat import Heartbeat, heartbeats_key
from reme_workers.jobs_process import JobsProcess
from reme_workers.publishing import Publisher
from reme_workers.queue_scorer import QueueScorer
from reme_workers.redis_store import RedisStore
from reme_workers.scores_process import ScoresProcess
from reme_workers.scoring_queue import ScoringQueue
from reme_workers.shared_health import SharedHealth, health_key
from reme_workers.worker_arguments import ROLES, Role

from reme_compact.compaction.compactor import Compactor
from reme_compact.compaction.counter_choice import CounterChoice
from reme_compact.decision.batching import Batch
from reme_compact.decision.direct_scorer import DirectScorer
from reme_compact.decision.health import DecisionModelHealth
from reme_compact.jobs.clock import utc_now
from reme_compact.jobs.observation import UNOBSERVED
from reme_compact.jobs.store import StoreLimits

LIMITS = StoreLimits(100, 2**26, results_expire_after_seconds=60, lease_seconds=3)


class Delivery(Publisher):
    """Delivers each message at once to whoever takes it in this process; holds it back while `is_held`.

    Attributes:
        messages: batches per message, in the order in which they were sent.
        held: what has not been delivered.
    """

    def __init__(self, store: RedisStore, tasks: anyio.abc.TaskGroup) -> None:
        self._turn = asyncio.Lock()
        self._store = store
        self._tasks = tasks
        self.jobs: JobsProcess | None = None
        self.scores: ScoresProcess | None = None
        self.is_held = False
        self.messages: list[list[str]] = []
        self.held: list[tuple[str, list[str], float, int]] = []

    async def run_job(self, job_id: str, start_before: datetime | None) -> None:
        del start_before
        assert self.jobs is not None
        self._tasks.start_soon(self.jobs.run, job_id)

    async def score_batches(
        self,
        job_id: str,
        contents: Sequence[tuple[str, Batch]],
        content_key: Callable[[str, str], str],
        until: float,
        at_once: int,
    ) -> None:
        for key, batch in contents:
            await self._store.client.set(content_key(job_id, key), pack_batch(batch), ex=60)
        self.messages.append([key for key, _ in contents])
        self.held.append((job_id, self.messages[-1], until, at_once))
        if not self.is_held:
            self.deliver()

    async def aclose(self) -> None:
        """Do nothing."""

    def deliver(self) -> None:
        """Deliver what was held back."""
        assert self.scores is not None
        while self.held:
            self._tasks.start_soon(self.scores.handle, *self.held.pop(0))


class Deployed:
    """One deployment in one process.

    Attributes:
        store: the jobs.
        delivery: what is sent between coordinators and scores processes.
        claims: on batches.
        name: of the scores process that counts as alive.
    """

    name = "scores-1"

    def __init__(self, server: Any, model: Any, tasks: anyio.abc.TaskGroup) -> None:
        self.store = RedisStore(fakeredis.FakeAsyncRedis(server=server), LIMITS)
        prefix = self.store.keys.prefix
        health = DecisionModelHealth()
        self.claims = Claims(self.store.client, prefix)
        self.delivery = Delivery(self.store, tasks)
        self.delivery.scores = ScoresProcess(
            self.name,
            self.store,
            self.claims,
            DirectScorer(model, health, utc_now),
            SharedHealth(self.store.client, health_key(prefix), 60, health),
            permits=8,
        )
        queue = ScoringQueue(self.store, self.delivery)
        self.scorer_for: Callable[[str], QueueScorer] = lambda job_id: QueueScorer(job_id, queue)
        self.delivery.jobs = JobsProcess(
            "jobs-1",
            self.store,
            lambda job_id: Compactor(self.scorer_for(job_id), CounterChoice(None, {}, None)),
            renew_every_seconds=1,
            records_outcomes=False,
            observer=UNOBSERVED,
        )


@asynccontextmanager
async def deployed(model: Any, *, live: Sequence[Role] = ROLES) -> AsyncIterator[Deployed]:
    """Bring up a deployment, in which the workers of some roles say that they live, and take it down."""
    server = fakeredis.FakeServer()
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(tasks.cancel_scope.cancel)
        it = Deployed(server, model, tasks)
        stack.push_async_callback(it.store.aclose)
        for role in live:
            heartbeats = heartbeats_key(it.store.keys.prefix, role)
            heart = Heartbeat(fakeredis.FakeRedis(server=server), heartbeats, partial(list, [f"{role}-1"]))
            heart.start()
            stack.callback(heart.stop)
        yield it
