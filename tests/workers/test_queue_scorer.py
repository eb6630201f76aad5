"""Scoring through the queue: the suite of every scorer, and what is done about lost workers and messages."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest
from execution_models import SteeredModel, body_of, request_of
from models import always
from queue_stand_ins import Deployed, deployed
from scorer_suite import ScorerSuite, answered, batches, score

from reme_compact.decision.batching import Batch
from reme_compact.jobs.clock import utc_now
from reme_compact.jobs.identity import new_job_id
from reme_compact.jobs.record import NewJob

pytestmark = pytest.mark.anyio


async def running_job(it: Deployed) -> str:
    """Return a job whose lease is held."""
    request = request_of(1)
    job_id = new_job_id(utc_now())
    await it.store.create(NewJob(job_id, "compact_context", "anna", request, body_of(request), 60))
    assert await it.store.start(job_id, "test") is not None
    return job_id


class TestQueueScorer(ScorerSuite):
    cancels_requests = False
    asked_ahead = 1

    @pytest.fixture(autouse=True)
    async def deployments(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as self._stack:
            yield

    async def make_scorer(self, model: Any) -> Any:
        self._it = await self._stack.enter_async_context(deployed(model))
        self._job_id = await running_job(self._it)
        return self._it.scorer_for(self._job_id)

    async def kept(self, asked: Sequence[Batch], reported: Sequence[Batch]) -> int:
        return len(await self._it.store.outcomes(self._job_id, [batch.key() for batch in asked]))


async def test_outcomes_are_recorded_once_by_whoever_brought_them() -> None:
    async with deployed(always(0.5)) as it:
        job_id = await running_job(it)
        asked = batches(5)
        await score(it.scorer_for(job_id), asked)
        document = await it.store.get(job_id, None)
        assert (document.progress.batches_scored, document.progress.scored) == (5, 10)
        outcomes = await it.store.outcomes(job_id, [batch.key() for batch in asked])
        assert outcomes == {batch.key(): answered(batch, 0.5) for batch in asked}


async def test_a_message_carries_several_batches_and_leaves_nothing_behind() -> None:
    async with deployed(always(0.5)) as it:
        job_id = await running_job(it)
        await score(it.scorer_for(job_id), batches(12), max_concurrency=6)
        assert list(map(len, it.delivery.messages)) == [12]
        async with asyncio.timeout(10):
            while await it.store.client.keys(f"reme:job:{{{job_id}}}:batch:*"):  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.01)


async def test_a_lost_message_is_sent_again_when_the_queue_is_empty() -> None:
    async with deployed(always(0.5)) as it:
        job_id = await running_job(it)
        it.delivery.is_held = True
        scoring = asyncio.create_task(score(it.scorer_for(job_id), batches(2)))
        async with asyncio.timeout(10):
            while len(it.delivery.messages) < 2:  # noqa: ASYNC110 - nothing tells of a message that is lost
                await asyncio.sleep(0.01)
        it.delivery.held = it.delivery.held[1:]
        it.delivery.deliver()
        assert set((await scoring).outcomes) == {0, 1}
        assert sorted(it.delivery.messages[1]) == sorted(it.delivery.messages[0])


async def test_nothing_is_sent_again_while_messages_wait() -> None:
    async with deployed(always(0.5)) as it:
        job_id = await running_job(it)
        await it.store.client.lpush("reme:celery:scores", b"somebody else's")
        it.delivery.is_held = True
        scoring = await score(it.scorer_for(job_id), batches(2), seconds=2.5)
        assert len(it.delivery.messages) == 1
        assert (scoring.outcomes, scoring.requests, scoring.never_asked) == ({}, 2, set())


async def test_what_a_dead_worker_had_claimed_is_sent_again() -> None:
    async with deployed(always(0.5)) as it:
        job_id = await running_job(it)
        it.delivery.is_held = True
        asked = batches(1)
        scoring = asyncio.create_task(score(it.scorer_for(job_id), asked))
        async with asyncio.timeout(10):
            while not it.delivery.messages:  # noqa: ASYNC110 - nothing tells of a message that is held
                await asyncio.sleep(0.01)
        _, keys, until, _ = it.delivery.held.pop()
        assert await it.claims.take(job_id, keys, "scores-2", until)
        it.delivery.is_held = False
        assert set((await scoring).outcomes) == {0}
        assert len(it.delivery.messages) == 2


async def test_a_slow_request_is_not_sent_again() -> None:
    model = SteeredModel()
    async with deployed(model) as it:
        job_id = await running_job(it)
        await score(it.scorer_for(job_id), batches(1), seconds=3)
        assert model.started == len(it.delivery.messages) == 1


async def test_what_is_lost_again_and_again_counts_as_failed() -> None:
    async with deployed(always(0.5)) as it:
        job_id = await running_job(it)
        it.delivery.is_held = True
        scoring = await score(it.scorer_for(job_id), batches(1))
        assert len(it.delivery.messages) == 3
        error = scoring.outcomes[0].error
        assert error is not None
        assert error["code"] == "worker_lost"
        assert (await it.store.get(job_id, None)).progress.batches_scored == 1


async def test_a_claim_is_refused_to_a_second_worker_and_to_a_job_that_does_not_run() -> None:
    async with deployed(SteeredModel()) as it:
        job_id = await running_job(it)
        it.delivery.is_held = True
        asked = batches(2)
        await score(it.scorer_for(job_id), asked, seconds=0.3)
        _, keys, until, _ = it.delivery.held.pop()
        assert set(await it.claims.take(job_id, keys, it.name, until)) == set(keys)
        assert await it.claims.take(job_id, keys, "scores-2", until) == {}
        await it.claims.give_back(job_id, keys[:1], it.name)
        assert set(await it.claims.take(job_id, keys, "scores-2", until)) == set(keys[:1])
        await it.store.cancel(job_id, None)
        assert await it.claims.still_wanted(job_id, keys, it.name) == set()
        await it.claims.give_back(job_id, keys, it.name)
        assert await it.claims.take(job_id, keys, it.name, until) == {}
