"""The way from a coordinator to the scores workers and back, shared by all jobs of one process."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from time import monotonic

from reme_compact.decision.batching import Batch
from reme_compact.decision.outcome import BatchOutcome
from reme_workers.claims import Claims, Look
from reme_workers.doorbell import Bell
from reme_workers.heartbeat import count_live, heartbeats_key
from reme_workers.publishing import Publisher
from reme_workers.redis_store import RedisStore

_COUNTED_EVERY_SECONDS = 0.5


class ScoringQueue:
    """Publishes batches, and finds out what became of them.

    Args:
        store: where outcomes are recorded; borrowed.
        publisher: puts messages into the queue; borrowed.
    """

    def __init__(self, store: RedisStore, publisher: Publisher) -> None:
        self.store = store
        self._publisher = publisher
        self._claims = Claims(store.client, store.keys.prefix)
        self._heartbeats = heartbeats_key(store.keys.prefix, "scores")
        self._live = 1
        self._count_again_at = float("-inf")

    @contextmanager
    def listening(self, job_id: str) -> Iterator[Bell]:
        """Give a bell that rings when something happens to a job."""
        with self.store.doorbell.listen(job_id, deaf_to=frozenset({"planned", "deciding"})) as bell:
            yield bell

    async def live_processes(self) -> int:
        """Return how many processes score, as counted a moment ago.

        Raises:
            redis.RedisError: the server cannot be reached.
        """
        if monotonic() >= self._count_again_at:
            self._count_again_at = monotonic() + _COUNTED_EVERY_SECONDS
            self._live = await count_live(self.store.client, self._heartbeats)
        return self._live

    async def publish(self, job_id: str, batches: Sequence[tuple[str, Batch]], until: float, at_once: int) -> None:
        """Send one message for some batches of a job.

        Args:
            job_id: the job.
            batches: the batches, with their keys.
            until: seconds since 1970 after which no answer counts.
            at_once: most of them that may be at the decision model at once.

        Raises:
            StoreUnavailableError: the queue cannot be reached.
        """
        await self._publisher.score_batches(job_id, batches, self._claims.content_key, until, at_once)

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Wait until no other job of this process publishes; what gathers meanwhile can travel in one message."""
        return self._publisher.turn()

    async def outcomes(self, job_id: str, keys: Sequence[str]) -> dict[str, BatchOutcome]:
        """Return what came back of some batches.

        Raises:
            StoreUnavailableError: the server cannot be reached.
        """
        return await self.store.outcomes(job_id, keys)

    async def look(self, job_id: str, keys: Sequence[str]) -> Look:
        """Find out where batches are that did not come back.

        Raises:
            redis.RedisError: the server cannot be reached.
        """
        return await self._claims.look(job_id, keys)
