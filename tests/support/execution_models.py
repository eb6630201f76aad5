"""Decision models that a test steers while a job runs, and small jobs for them."""

import asyncio
from typing import Any

import orjson
from histories import history, request_for

from reme_compact import BinaryAnswer, CompactionRequest, DecisionResponse

ONE_UNIT_EACH = {"max_state_tokens": 1500}


def request_of(batches: int, **options: Any) -> CompactionRequest:
    """Return a request that takes so many decision requests."""
    values = request_for(history(batches), options={**ONE_UNIT_EACH, "max_concurrency": 2, **options})
    return CompactionRequest.parse(values)


def body_of(request: CompactionRequest) -> bytes:
    """Return a request as it is sent."""
    return orjson.dumps(request.model_dump(mode="json"))


class SteeredModel:
    """Answers only as many requests as it is allowed to, and counts those that were started."""

    def __init__(self, allowed: int = 0) -> None:
        self.started = 0
        self.running = 0
        self.most_running = 0
        self.cancelled = 0
        self._permits = asyncio.Semaphore(allowed)
        self._progress = asyncio.Condition()

    async def __call__(self, state: Any, questions: Any) -> DecisionResponse:
        del state
        self.started += 1
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            async with self._progress:
                self._progress.notify_all()
            await self._permits.acquire()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        return DecisionResponse({name: BinaryAnswer(0.0) for name in questions})

    def allow(self, requests: int) -> None:
        """Let so many more requests be answered."""
        for _ in range(requests):
            self._permits.release()

    async def until_started(self, requests: int) -> None:
        """Wait until so many requests have been started altogether."""
        async with asyncio.timeout(20), self._progress:
            await self._progress.wait_for(lambda: self.started >= requests)
