"""Record outcomes that come back at about the same time in one round trip."""

import asyncio
import time

from reme_compact.decision.batching import Batch
from reme_compact.decision.outcome import BatchOutcome
from reme_workers.redis_store import RedisStore


class Recorder:
    """Records what comes back while the round trip before is under way, all of it together.

    Args:
        store: where outcomes are recorded; borrowed.
    """

    def __init__(self, store: RedisStore) -> None:
        self._store = store
        self._waiting: list[tuple[tuple[str, Batch, BatchOutcome], asyncio.Future[float | None]]] = []
        self._at_work: asyncio.Task[None] | None = None

    async def record(self, job_id: str, batch: Batch, outcome: BatchOutcome) -> float | None:
        """Record an outcome (see `JobStore.scored`); a caller that is cancelled meanwhile leaves it to be recorded.

        Returns:
            A time at which the job still ran, a reading of `time.monotonic`; null: the outcome was not recorded.

        Raises:
            StoreUnavailableError: the server does not answer.
        """
        recorded: asyncio.Future[float | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(((job_id, batch, outcome), recorded))
        if self._at_work is None or self._at_work.done():
            self._at_work = asyncio.create_task(self._record_all(), name="reme-recorder")
        return await recorded

    async def _record_all(self) -> None:
        while self._waiting:
            together, self._waiting = self._waiting, []
            began = time.monotonic()
            try:
                answers = await self._store.scored_together([scored for scored, _ in together])
            except Exception as error:  # noqa: BLE001 - each caller is told, and decides
                for _, recorded in together:
                    if not recorded.done():
                        recorded.set_exception(error)
                continue
            for (_, recorded), answer in zip(together, answers, strict=True):
                if not recorded.done():
                    recorded.set_result(began if answer else None)
