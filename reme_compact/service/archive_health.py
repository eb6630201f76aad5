"""Whether originals can be kept, for whoever watches the service."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import anyio
from anyio import to_thread

from reme_compact.archive.archive import Archive
from reme_compact.archive.names import TEMPORARY
from reme_compact.archive.storage import NewObject
from reme_compact.compaction.originals import ARCHIVE_FAILED
from reme_compact.contract.errors import ArchiveError, ReMeError
from reme_compact.jobs.clock import Clock
from reme_compact.jobs.observation import NoObserver, RunEnd

LOOK_AGAIN_AFTER = timedelta(seconds=30)
"""How long one look holds; probes come more often, and each look writes."""

_PATIENCE_SECONDS = 5.0


class ArchiveHealth(NoObserver):
    """Looks after an archive that every request needs, and after one that has failed until it works again.

    Args:
        is_always_used: requests that name no session use the archive, too.
        clock: tells the time.
    """

    def __init__(self, *, is_always_used: bool, clock: Clock) -> None:
        self._is_always_used = is_always_used
        self._has_failed = False
        self._clock = clock
        self._looked_at: datetime | None = None
        self._problem: str | None = None
        self._one_at_a_time = anyio.Lock()
        self._is_looking = False

    def job_finished(self, job_id: str, end: RunEnd, *, seconds: float, proposal: Mapping[str, Any] | None) -> None:
        """Note that originals could not be kept."""
        del job_id, end, seconds
        if proposal is not None and proposal["stats"].get("protected_by", {}).get(ARCHIVE_FAILED):
            self._has_failed = True
            self._looked_at = None

    async def problem(self, archive: Archive) -> str | None:
        """Return why originals cannot be kept; null: they can, or nobody depends on that."""
        async with self._one_at_a_time:
            if (self._is_always_used or self._has_failed) and self._is_due():
                self._looked_at = self._clock()
                self._problem = await self._look(archive)
                self._has_failed = self._problem is not None
            return self._problem

    def _is_due(self) -> bool:
        return self._looked_at is None or self._clock() - self._looked_at >= LOOK_AGAIN_AFTER

    async def _look(self, archive: Archive) -> str | None:
        problem: str | None = f"The archive's place did not answer within {_PATIENCE_SECONDS:g} s."
        # A thread that hangs cannot be ended, so no other is sent after it.
        if not self._is_looking:
            self._is_looking = True
            with anyio.move_on_after(_PATIENCE_SECONDS):
                problem = await to_thread.run_sync(self._try_to_write, archive, abandon_on_cancel=True)
        return problem

    def _try_to_write(self, archive: Archive) -> str | None:
        try:
            _write_and_remove(archive)
        except ReMeError as error:
            return error.message
        finally:
            self._is_looking = False
        return None


def _write_and_remove(archive: Archive) -> None:
    """Write what can be mistaken for nothing that is kept, and remove it.

    Raises:
        ReMeError: it could not be written.
    """
    name = f"{TEMPORARY}{uuid4().hex}"
    (outcome,) = archive.storage.write([[NewObject(name, b"can this be written?")]])
    if isinstance(outcome, ArchiveError):
        raise outcome
    archive.storage.delete([name])
