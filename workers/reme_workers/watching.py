"""The part of the store that waits: for the events of a job, and for the loss of a lease."""

from collections.abc import AsyncIterator
from time import monotonic
from typing import Any

from reme_compact.contract.errors import StoreUnavailableError
from reme_compact.contract.job import FINAL_STATUSES, JobEvent
from reme_compact.jobs.memory_events import Position, position_of
from reme_compact.jobs.record import Lease
from reme_workers.doorbell import PROGRESS
from reme_workers.job_fields import event_of
from reme_workers.reading import Reading

OUTAGE_SECONDS = 30.0
"""How long somebody who watches a job is kept waiting while the server does not answer."""

_AT_ONCE = 500
_LARGEST = 2**64 - 1


class Watching(Reading):
    """Waits; part of `RedisStore`, whose protocol says what each method does."""

    async def events(self, job_id: str, owner: str | None, after: str | None) -> AsyncIterator[JobEvent]:
        """See `JobStore.events`; an outage in the middle is waited for, `OUTAGE_SECONDS` long."""
        position = position_of(after) if after is not None else (0, 0)
        await self._fields(job_id, owner)
        unreachable_since: float | None = None
        with self.doorbell.listen(job_id) as bell:
            while True:
                try:
                    is_over, entries = await self._events_after(job_id, position)
                except StoreUnavailableError:
                    unreachable_since = unreachable_since or monotonic()
                    if monotonic() - unreachable_since > OUTAGE_SECONDS:
                        raise
                    await bell.wait()
                    continue
                unreachable_since = None
                for event in map(event_of, entries):
                    yield event
                    position = position_of(event.id)
                    if event.type == "finished":
                        return
                if is_over and not entries:
                    return
                if len(entries) < _AT_ONCE:
                    await bell.wait()

    async def ended(self, job_id: str) -> None:
        """See `JobStore.ended`; an outage in the middle is waited for, as by `events`."""
        unreachable_since: float | None = None
        with self.doorbell.listen(job_id, deaf_to=PROGRESS) as bell:
            while True:
                try:
                    status = await self.status(job_id)
                except StoreUnavailableError:
                    unreachable_since = unreachable_since or monotonic()
                    if monotonic() - unreachable_since > OUTAGE_SECONDS:
                        raise
                else:
                    unreachable_since = None
                    if status is None or status in FINAL_STATUSES:
                        return
                await bell.wait()

    async def lost(self, lease: Lease) -> None:
        """See `JobStore.lost`; an outage takes no lease away."""
        with self.doorbell.listen(lease.job_id, deaf_to=PROGRESS) as bell:
            while await self._is_held_as_far_as_known(lease):
                await bell.wait()

    async def _is_held_as_far_as_known(self, lease: Lease) -> bool:
        try:
            (token,) = await self._read(("HGET", self.keys.record(lease.job_id), "token"))
        except StoreUnavailableError:
            return True
        return token is not None and token.decode() == lease.token

    async def _events_after(self, job_id: str, position: Position) -> tuple[bool, list[tuple[bytes, Any]]]:
        """Return whether the job was over before the events were read, and what came after a position."""
        status, entries = await self._read(
            ("HGET", self.keys.record(job_id), "status"),
            ("XRANGE", self.keys.events(job_id), _id_after(position), "+", "COUNT", _AT_ONCE),
        )
        return status is None or status.decode() in FINAL_STATUSES, entries


def _id_after(position: Position) -> str:
    """Return the smallest id beyond a position; ids that the server could not hold are beyond all events."""
    milliseconds, number = position
    if milliseconds > _LARGEST:
        return f"{_LARGEST}-{_LARGEST}"
    return f"{milliseconds}-{number + 1}" if number < _LARGEST else f"{min(milliseconds + 1, _LARGEST)}-0"
