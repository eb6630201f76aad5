"""Jobs in Redis, shared by every replica of the service and every worker."""

from collections.abc import Awaitable, Callable
from typing import Self

from redis.asyncio import Redis

from reme_compact.jobs.store import StoreLimits
from reme_compact.presets.schema import RedisSettings
from reme_workers.acceptance import Acceptance
from reme_workers.connection import connect
from reme_workers.database import PATIENCE_SECONDS
from reme_workers.running import Running
from reme_workers.sweeping import Sweeping
from reme_workers.watching import Watching


class RedisStore(Acceptance, Running, Watching, Sweeping):
    """A `JobStore` over one Redis-compatible server; it belongs to the event loop in which it is first used.

    A server that does not answer is tried again for `patience_seconds`, then `StoreUnavailableError` is raised;
    watchers wait longer. Nothing needs to be done when it is back.

    Args:
        client: see `connect`; it is closed with the store.
        limits: how much is taken, and for how long.
        prefix: starts every key and channel.
        patience_seconds: how long an operation is tried again while the server does not answer.
        has_jobs_worker: tells whether a worker is there that could run a queued job, for `JobDocument.waiting_for`;
            null: never said.
    """

    def __init__(
        self,
        client: Redis,
        limits: StoreLimits,
        *,
        prefix: str = "reme:",
        patience_seconds: float = PATIENCE_SECONDS,
        has_jobs_worker: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        super().__init__(client, limits, prefix=prefix, patience_seconds=patience_seconds)
        self.has_jobs_worker = has_jobs_worker

    @classmethod
    def from_settings(
        cls,
        settings: RedisSettings,
        limits: StoreLimits,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        has_jobs_worker: Callable[[], Awaitable[bool]] | None = None,
    ) -> Self:
        """Make a store with a client of its own; it connects when it is used.

        Raises:
            ConfigurationError: there is no URL, or it is wrong.
        """
        return cls(
            connect(settings),
            limits,
            prefix=settings.key_prefix,
            patience_seconds=patience_seconds,
            has_jobs_worker=has_jobs_worker,
        )

    @property
    def client(self) -> Redis:
        """The client, for other keys of the same deployment."""
        return self._client

    async def aclose(self) -> None:
        """Let go of all connections; jobs stay."""
        await self.doorbell.aclose()
        await self._client.aclose()
