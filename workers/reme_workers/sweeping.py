"""The part of the store that looks over all jobs for those that need something."""

from collections.abc import Iterable
from time import monotonic

from redis.exceptions import ResponseError

from reme_compact.jobs.store import Sweep
from reme_workers import scripts
from reme_workers.acceptance import UNCLAIMED_AFTER_SECONDS
from reme_workers.database import milliseconds
from reme_workers.reading import Due, Reading
from reme_workers.running import START_TIMEOUT
from reme_workers.scripts import Script

_LONGEST_PAUSE_MILLISECONDS = 60_000
"""A job that was reported and that nobody takes is reported again after a lease, twice that and so on, up to this."""


class Sweeping(Reading):
    """Looks over all jobs; part of `RedisStore`.

    Any number of processes may do so: each job is reported to one of them, and to the next one only when nobody
    took it for a while.
    """

    _reachable_since = float("-inf")

    async def sweep(self) -> Sweep:
        """See `JobStore.sweep`.

        During an outage nobody could renew, so for a lease afterwards, whether the server was started then or could
        only be reached again, a lease lapses only if it was renewed since.
        """
        had_outage, self._had_outage = self._had_outage, False
        seconds_up = await self._ask(self._seconds_up)
        if had_outage or self._had_outage:
            self._reachable_since = monotonic()
        seconds_reachable = min(seconds_up, monotonic() - self._reachable_since)
        due = await self._due()
        look_again = milliseconds(UNCLAIMED_AFTER_SECONDS)
        return Sweep(
            timed_out=await self._those_of(due.to_start, scripts.TIME_OUT, START_TIMEOUT),
            lapsed=await self._lapsed(due, seconds_reachable),
            late=await self._those_of(due.deadlines, scripts.REPORT_LATE),
            unclaimed=await self._those_of(due.unclaimed, scripts.REPORT_UNCLAIMED, look_again),
            removed=await self._tidy(due.expiries),
        )

    async def _lapsed(self, due: Due, seconds_reachable: float) -> list[str]:
        looked_at = dict.fromkeys([*due.leases, *due.deadlines])
        # The server counts whole seconds, so one more.
        everybody_could_renew = seconds_reachable >= self._limits.lease_seconds + 1
        renewed_within = -1 if everybody_could_renew else milliseconds(seconds_reachable)
        arguments = (
            self._lease_milliseconds,
            self._silence_milliseconds,
            _LONGEST_PAUSE_MILLISECONDS,
            renewed_within,
        )
        return await self._those_of(looked_at, scripts.REPORT_LAPSED, *arguments)

    async def _those_of(self, job_ids: Iterable[str], script: Script, *arguments: str | bytes | float) -> list[str]:
        """Run a script on each job, and return those of which it says so."""
        return [job_id for job_id in job_ids if await self._run(script, job_id, *arguments)]

    async def _seconds_up(self) -> float:
        try:
            information = await self._client.info("server")
        except ResponseError:
            # A stand-in without INFO, or a user who may not ask.
            return float("inf")
        return float(information.get("uptime_in_seconds", "inf"))
