"""What a scores worker does with a message: claim its batches, ask about each, record what came back."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import anyio
import redis
from anyio import CancelScope

from reme_compact.contract.errors import StoreUnavailableError
from reme_compact.decision.batching import Batch
from reme_compact.decision.direct_scorer import DirectScorer
from reme_compact.decision.health import DecisionModelHealth
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.decision.protocol import OwnedDecisionModel
from reme_compact.jobs.clock import utc_now
from reme_compact.jobs.deployment import JOB, store_limits
from reme_compact.presets.assemble import assemble_component
from reme_compact.presets.schema import Preset
from reme_workers.claimed import Claimed
from reme_workers.claims import Claims
from reme_workers.recorder import Recorder
from reme_workers.redis_store import RedisStore
from reme_workers.shared_health import SharedHealth, health_key

CLOSING_SECONDS = 0.3
"""How long letting go of claims or connections may take when a process stops."""

_LOOK_SECONDS = 0.1
_RETRY_SECONDS = 0.1
_NOTHING_KNOWN: Mapping[str, BatchOutcome] = {}

Result = TypeVar("Result")


class ScoresProcess:
    """Scores batches on one event loop, at most so many at once.

    Args:
        name: of this process, for its claims.
        store: where outcomes are recorded.
        claims: on the batches.
        scorer: asks the decision model.
        health: how requests ended, for others to see.
        permits: most decision requests at once.
    """

    def __init__(
        self,
        name: str,
        store: RedisStore,
        claims: Claims,
        scorer: DirectScorer,
        health: SharedHealth,
        permits: int,
    ) -> None:
        self._name = name
        self._recorder = Recorder(store)
        self._claims = claims
        self._scorer = scorer
        self._health = health
        self._permits = anyio.Semaphore(permits)
        self._scopes: set[CancelScope] = set()
        self._stopping = False

    async def handle(self, job_id: str, keys: Sequence[str], until: float, at_once: int | None = None) -> bool:
        """Score what of a message is still to be scored; false: this process stops, so another shall do it.

        Args:
            job_id: the job.
            keys: of the batches.
            until: seconds since 1970 after which no answer counts.
            at_once: most of them that may be at the decision model at once; null: all.
        """
        if self._stopping:
            return False
        with CancelScope() as scope:
            self._scopes.add(scope)
            is_done = False
            try:
                await self._score_all(job_id, keys, until, at_once or len(keys))
                is_done = True
            finally:
                self._scopes.discard(scope)
                if not is_done:
                    # Whoever waits for these batches would otherwise take this process to be at work on them.
                    await self._give_back(job_id, keys)
        return not scope.cancelled_caught

    def stop(self) -> None:
        """Cancel what is under way and take nothing more; every `handle` under way returns false."""
        self._stopping = True
        for scope in self._scopes:
            scope.cancel()

    async def _give_back(self, job_id: str, keys: Sequence[str]) -> None:
        with CancelScope(shield=True), anyio.move_on_after(CLOSING_SECONDS), suppress(redis.RedisError):
            await self._claims.give_back(job_id, keys, self._name)

    async def _score_all(self, job_id: str, keys: Sequence[str], until: float, at_once: int) -> None:
        batches = await _until(until, lambda: self._claims.take(job_id, keys, self._name, until))
        if not batches:
            return
        claimed = Claimed(self._claims, job_id, self._name, batches)
        async with anyio.create_task_group() as tasks:
            for _ in range(min(at_once, len(batches))):
                tasks.start_soon(self._score_one_after_another, claimed, until)
        await _until(until, lambda: self._claims.finish(job_id, list(batches), self._name))
        with suppress(redis.RedisError):
            await self._health.publish()

    async def _score_one_after_another(self, claimed: Claimed, until: float) -> None:
        async def record(batch: Batch, outcome: BatchOutcome) -> None:
            if outcome.fatal:
                await _until(until, claimed.drop_waiting)
            claimed.note(await _until(until, lambda: self._recorder.record(claimed.job_id, batch, outcome)))

        while claimed.has_waiting:
            async with self._permits:
                batch = await _until(until, claimed.next_wanted)
                left = until - time.time()
                if batch is None or left <= 0:
                    return
                await self._scorer.score(
                    [batch],
                    max_concurrency=1,
                    deadline=asyncio.get_running_loop().time() + left,
                    known=_NOTHING_KNOWN,
                    report=record,
                )


@asynccontextmanager
async def running_scores_process(
    preset: Preset, name: str, permits: int, *, should_stop: Callable[[], bool] = lambda: False
) -> AsyncIterator[ScoresProcess]:
    """Build what a scores process needs, and close it afterwards.

    Args:
        preset: names the decision model and the server.
        name: of this process.
        permits: most decision requests at once.
        should_stop: is looked at again and again; a process that is not told by `stop` is told so.

    Raises:
        ConfigurationError: the decision model or the server's address is refused.
    """
    model: OwnedDecisionModel = await anyio.to_thread.run_sync(build_decision_model, preset)
    settings = preset.execution.redis
    store = RedisStore.from_settings(settings, store_limits(preset.execution))
    health = DecisionModelHealth()
    expires = preset.health.outcome_expires_after_seconds
    process = ScoresProcess(
        name,
        store,
        Claims(store.client, settings.key_prefix),
        DirectScorer(model, health, utc_now),
        SharedHealth(store.client, health_key(settings.key_prefix), expires, health),
        permits,
    )
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_when_told, process, should_stop)
            yield process
            tasks.cancel_scope.cancel()
    finally:
        with CancelScope(shield=True), anyio.move_on_after(CLOSING_SECONDS):
            await model.aclose()
            await store.aclose()


async def _until(until: float, operation: Callable[[], Awaitable[Result]]) -> Result:
    """Await an operation, again while the server does not answer and an answer still counts.

    Raises:
        StoreUnavailableError: it did not answer in time.
    """
    while True:
        try:
            return await operation()
        except (StoreUnavailableError, redis.RedisError) as error:
            if time.time() >= until:
                raise StoreUnavailableError(f"The Redis server does not answer ({type(error).__name__}).") from None
        await anyio.sleep(_RETRY_SECONDS)


def build_decision_model(preset: Preset) -> OwnedDecisionModel:
    """Build the decision model of the job that every deployment runs.

    Raises:
        ConfigurationError: its settings are refused.
    """
    model: OwnedDecisionModel = assemble_component(preset, f"as_decision_model.{preset.jobs[JOB].as_decision_model}")
    return model


async def _stop_when_told(process: ScoresProcess, should_stop: Callable[[], bool]) -> None:
    while not should_stop():  # noqa: ASYNC110 - another process says so, in shared memory
        await anyio.sleep(_LOOK_SECONDS)
    process.stop()
