"""Put messages into the queues, from one thread: Celery's publishing is synchronous and would hold up an event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import redis
from kombu.exceptions import OperationalError

from reme_compact.contract.errors import StoreUnavailableError
from reme_compact.decision.batching import Batch
from reme_workers.batch_messages import SLACK_SECONDS, pack_batch
from reme_workers.celery_app import JOBS_QUEUE, RUN_JOB, SCORE_BATCHES, SCORES_QUEUE

if TYPE_CHECKING:
    from celery import Celery

Result = TypeVar("Result")


class Publisher:
    """Publishes for one process.

    Args:
        app: names queues and broker; this publisher closes its connections.
        client: a connection for this thread alone, which stores what messages refer to; it is closed too.
    """

    def __init__(self, app: "Celery", client: "redis.Redis") -> None:
        self._app = app
        self._client = client
        self._producer: Any = None
        self._turn = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reme-publisher")

    async def run_job(self, job_id: str, start_before: datetime | None) -> None:
        """Have a job run by a jobs worker.

        Args:
            job_id: the job.
            start_before: a message that is not taken by then is discarded; null: it has been started before.

        Raises:
            StoreUnavailableError: the queue cannot be reached.
        """
        await self._do(lambda: self._send(RUN_JOB, JOBS_QUEUE, [job_id], start_before))

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until nobody else publishes; what gathers meanwhile can travel in one message."""
        async with self._turn:
            yield

    async def score_batches(
        self,
        job_id: str,
        contents: Sequence[tuple[str, Batch]],
        content_key: Callable[[str, str], str],
        until: float,
        at_once: int,
    ) -> None:
        """Have batches scored by a scores worker.

        Args:
            job_id: the job they belong to.
            contents: keys of the batches, and what they ask.
            content_key: returns the Redis key of what a batch asks, by the job and the batch's key.
            until: seconds since 1970 after which no answer counts.
            at_once: most of them that may be at the decision model at once.

        Raises:
            StoreUnavailableError: the queue cannot be reached.
        """

        def publish() -> None:
            expires = datetime.fromtimestamp(until, UTC)
            expire_at = _milliseconds(until + SLACK_SECONDS)
            with self._client.pipeline(transaction=False) as pipeline:
                for key, batch in contents:
                    # Without the checks of `set`, which cost as much as all the rest.
                    pipeline.execute_command("SET", content_key(job_id, key), pack_batch(batch), "PXAT", expire_at)  # type: ignore[no-untyped-call]
                pipeline.execute()
            self._send(SCORE_BATCHES, SCORES_QUEUE, [job_id, [key for key, _ in contents], until, at_once], expires)

        await self._do(publish)

    async def aclose(self) -> None:
        """Publish what is waiting to be, then let go of connections."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close)
        self._thread.shutdown(wait=False)

    def _close(self) -> None:
        self._drop_producer()
        self._app.close()
        self._client.close()

    def _send(self, task: str, queue: str, arguments: Sequence[Any], expires: datetime | None) -> None:
        if self._producer is None:
            # One for all messages: Celery's own pool makes a new connection object for each.
            self._producer = self._app.amqp.Producer(self._app.connection_for_write())
        # Celery would write the arguments a second time, for people to read.
        self._app.send_task(
            task, args=arguments, queue=queue, expires=expires, producer=self._producer, argsrepr="", kwargsrepr=""
        )

    async def _do(self, work: Callable[[], Result]) -> Result:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._twice, work)
        except (OperationalError, redis.RedisError, OSError) as error:
            raise StoreUnavailableError(f"The queue cannot be reached ({type(error).__name__}).") from None

    def _twice(self, work: Callable[[], Result]) -> Result:
        """Do work again after a connection turned out to be dead, as all are once the server was restarted."""
        try:
            return work()
        except (OperationalError, redis.ConnectionError, OSError):
            self._drop_producer()
            return work()

    def _drop_producer(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            with suppress(OperationalError, redis.RedisError, OSError):
                producer.connection.release()


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
