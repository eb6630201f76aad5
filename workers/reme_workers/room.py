"""The part of the store that makes room for a request or a result: the oldest finished jobs expire early."""

from reme_workers import scripts
from reme_workers.database import milliseconds
from reme_workers.reading import Reading

_TOGETHER = 200


class MakingRoom(Reading):
    """Makes room; part of `RedisStore`."""

    async def _make_room(self, job_id: str, size: int) -> bool:
        """Let the oldest finished jobs expire so that a job may take so many bytes; none if that would not do.

        Returns:
            Whether any did, so that it is worth another try.
        """
        unread = milliseconds(self._limits.unread_seconds)
        retention = milliseconds(self._limits.results_expire_after_seconds)
        chosen = await self._run(scripts.OLDEST, job_id, size, self._limits.max_stored_bytes, retention, unread)
        expired = 0
        for first in range(0, len(chosen), _TOGETHER):
            runs = [(other.decode(), (unread,)) for other in chosen[first : first + _TOGETHER]]
            expired += sum(await self._run_together(scripts.EXPIRE, runs))
        return expired > 0
