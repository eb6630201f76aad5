"""What every part of the store works with: the client, the keys, the limits, and what to do in an outage."""

from collections.abc import Awaitable, Callable, Sequence
from io import BytesIO
from typing import Any, TypeVar

from redis.asyncio import Redis

from reme_compact.jobs.store import StoreLimits
from reme_workers.connection import patiently
from reme_workers.doorbell import Doorbell
from reme_workers.keys import Keys
from reme_workers.scripts import Script

Result = TypeVar("Result")

PATIENCE_SECONDS = 1.0
"""How long an operation is tried again while the server does not answer."""

_PIECE_BYTES = 2 * 1024 * 1024


class Database:
    """The server as the store sees it.

    Args:
        client: belongs to one event loop; it returns bytes. It is closed with the store.
        limits: how much is taken, and for how long.
        prefix: starts every key and channel.
        patience_seconds: how long an operation is tried again while the server does not answer.
    """

    def __init__(
        self, client: Redis, limits: StoreLimits, *, prefix: str = "reme:", patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self.keys = Keys(prefix)
        self.doorbell = Doorbell(client, self.keys)
        self._client = client
        self._limits = limits
        self._patience_seconds = patience_seconds
        self._had_outage = False

    async def _ask(self, operation: Callable[[], Awaitable[Result]]) -> Result:
        """Await an operation that may be done twice; see `patiently`."""
        return await patiently(operation, patience_seconds=self._patience_seconds, note_outage=self._note_outage)

    async def _run(self, script: Script, job_id: str, *arguments: str | bytes | float) -> Any:
        """Run a script on a job."""
        keys, given = self._given(job_id, arguments)
        return await self._ask(lambda: script.run(self._client, keys, given))

    async def _run_together(
        self, script: Script, runs: Sequence[tuple[str, Sequence[str | bytes | float]]]
    ) -> list[Any]:
        """Run a script on several jobs in one round trip, and return its answers in order."""
        given = [self._given(job_id, arguments) for job_id, arguments in runs]
        return await self._ask(lambda: script.run_together(self._client, given))

    def _given(self, job_id: str, arguments: Sequence[str | bytes | float]) -> tuple[list[str], list[str | bytes]]:
        """Return the keys and arguments of a script."""
        first = [self.keys.channel(job_id), job_id, self.keys.jobs_of(""), self.keys.active_of("")]
        given = [*first, *(argument if isinstance(argument, bytes) else str(argument) for argument in arguments)]
        return self.keys.for_script(job_id), given

    async def _read(self, *commands: Sequence[str | bytes | float]) -> list[Any]:
        """Send commands together and return their answers, in order."""

        async def send() -> list[Any]:
            if len(commands) == 1:
                return [await self._client.execute_command(*commands[0])]  # type: ignore[no-untyped-call]
            pipeline = self._client.pipeline(transaction=False)
            for command in commands:
                pipeline.execute_command(*command)
            return await pipeline.execute()

        return await self._ask(send)

    async def _fetch(self, key: str) -> BytesIO | None:
        """Read a large value piece by piece, so that neither the event loop nor memory feels its size.

        Null: it is gone, or went meanwhile.
        """
        size, piece = await self._read(("STRLEN", key), ("GETRANGE", key, 0, _PIECE_BYTES - 1))
        stored = BytesIO()
        stored.write(piece)
        while len(piece) > 0 and stored.tell() < size:
            (piece,) = await self._read(("GETRANGE", key, stored.tell(), stored.tell() + _PIECE_BYTES - 1))
            stored.write(piece)
        is_whole = 0 < stored.tell() == size
        stored.seek(0)
        return stored if is_whole else None

    def _note_outage(self) -> None:
        self._had_outage = True

    @property
    def _lease_milliseconds(self) -> int:
        return milliseconds(self._limits.lease_seconds)

    @property
    def _silence_milliseconds(self) -> int:
        """How long a holder may be silent when the job's time is up: a renewal interval and some jitter."""
        return self._lease_milliseconds * 5 // 12


def milliseconds(seconds: float) -> int:
    """Return a time that Redis can hold: at most ten years."""
    return round(min(seconds, 10 * 365 * 86400.0) * 1000)
