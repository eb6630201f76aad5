"""One subscription per process that wakes whoever waits for something to happen to a job.

A ring says what happened, the type of an event and what it is about, so that nobody is woken who waits for something
else; what that means is read from the job. So a ring that got lost costs time only: all waiters are woken when the
subscription is back, and each looks by itself every few seconds.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import monotonic

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from reme_workers.keys import Keys

LOOK_SECONDS = 5.0
"""How often a waiter looks though nothing rang."""

SCORED = "batch_scored"
PROGRESS = frozenset({SCORED, "planned", "deciding"})
"""Types of events after which a job is run by whoever ran it before."""

_LOOK_WITHOUT_DOORBELL_SECONDS = 0.25
_SILENCE_SECONDS = 15.0
_SHORTEST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0

_log = logging.getLogger(__name__)


class Bell:
    """What one waiter listens to. It may ring for nothing, and it rings once for many rings in a row.

    Args:
        doorbell: rings it.
        deaf_to: types of events for which it does not ring.
    """

    def __init__(self, doorbell: "Doorbell", deaf_to: frozenset[str]) -> None:
        self._doorbell = doorbell
        self._deaf_to = deaf_to
        self._rang = asyncio.Event()
        self._about: set[str] = set()
        self._is_about_anything = True

    def ring(self) -> None:
        """Wake the waiter, now or when it waits next; it does not know what about."""
        self._is_about_anything = True
        self._rang.set()

    def ring_about(self, kind: str, about: Iterable[str]) -> None:
        """Wake the waiter, unless it is deaf to this type of event."""
        if kind not in self._deaf_to:
            self._about.update(about)
            self._is_about_anything = self._is_about_anything or kind != SCORED
            self._rang.set()

    def heard(self) -> set[str] | None:
        """Return the keys of the batches that it rang about since this was asked last; null: it may be anything."""
        about, is_about_anything = self._about, self._is_about_anything
        self._about, self._is_about_anything = set(), False
        return None if is_about_anything else about

    async def wait(self) -> None:
        """Return when it rang since the last time, or when it is time to look anyway.

        Look first and wait then: what happens between the two has rung.
        """
        try:
            async with asyncio.timeout(self._doorbell.look_seconds):
                await self._rang.wait()
        except TimeoutError:
            self._is_about_anything = True
        self._rang.clear()


class Doorbell:
    """Listens to all jobs of a deployment on one connection, from the first waiter on.

    Args:
        client: gives the connection.
        keys: name the channels.
    """

    def __init__(self, client: Redis, keys: Keys) -> None:
        self._client = client
        self._keys = keys
        self._bells: defaultdict[str, set[Bell]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None
        self._is_listening = False

    @property
    def look_seconds(self) -> float:
        """How long a waiter waits before it looks by itself."""
        return LOOK_SECONDS if self._is_listening else _LOOK_WITHOUT_DOORBELL_SECONDS

    @contextmanager
    def listen(self, job_id: str, deaf_to: frozenset[str] = frozenset()) -> Iterator[Bell]:
        """Give a bell that rings when something happens to a job.

        Args:
            job_id: the job.
            deaf_to: types of events that do not matter to whoever waits.
        """
        if self._task is None:
            self._task = asyncio.create_task(self._stay_subscribed(), name="reme-doorbell")
        bell = Bell(self, deaf_to)
        self._bells[job_id].add(bell)
        try:
            yield bell
        finally:
            self._bells[job_id].discard(bell)
            if not self._bells[job_id]:
                del self._bells[job_id]

    async def aclose(self) -> None:
        """Stop listening; waiters go on looking by themselves."""
        task, self._task = self._task, None
        while task is not None and not task.done():
            # Again and again, since Python 3.11 may lose a cancellation that meets the end of what is waited for.
            task.cancel()
            await asyncio.wait({task}, timeout=0.1)

    async def _stay_subscribed(self) -> None:
        pause = _SHORTEST_PAUSE_SECONDS
        while True:
            began = monotonic()
            try:
                await self._subscribe_and_ring()
            except (RedisError, OSError) as error:
                _log.warning("The connection that tells of jobs is lost (%s); it is made again.", type(error).__name__)
            finally:
                self._is_listening = False
                self._ring_all()
            pause = _SHORTEST_PAUSE_SECONDS if monotonic() - began > 1 else min(2 * pause, _LONGEST_PAUSE_SECONDS)
            await asyncio.sleep(pause)

    async def _subscribe_and_ring(self) -> None:
        pubsub: PubSub = self._client.pubsub()
        try:
            await pubsub.psubscribe(self._keys.channels)
            awaits_answer = False
            while True:
                message = await pubsub.get_message(timeout=_SILENCE_SECONDS)
                if message is not None:
                    awaits_answer = False
                    self._take(message["type"], message["channel"], message["data"])
                elif awaits_answer:
                    raise ConnectionError("no answer to a ping")
                else:
                    await pubsub.ping()
                    awaits_answer = True
        finally:
            await pubsub.aclose()  # type: ignore[no-untyped-call]

    def _take(self, kind: str, channel: bytes, data: bytes | int) -> None:
        if kind == "psubscribe":
            # Said again after redis-py made the connection anew by itself.
            self._is_listening = True
            self._ring_all()
        elif kind == "pmessage" and (bells := self._bells.get(self._keys.job_of(channel.decode()))):
            what, *about = data.decode().split(" ") if isinstance(data, bytes) else ("",)
            for bell in bells:
                bell.ring_about(what, about)

    def _ring_all(self) -> None:
        for bells in self._bells.values():
            for bell in bells:
                bell.ring()
