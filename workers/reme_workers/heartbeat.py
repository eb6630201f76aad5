"""Which worker processes live: each says so twice a second, by Redis's own clock.

One sorted set per role: member is the name of a process, score the milliseconds at which it was last heard of.
"""

import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable, Sequence

import redis
from redis.asyncio import Redis

from reme_workers.worker_arguments import Role

LIVE_MILLISECONDS = 2000
"""How long after its last heartbeat a process counts as alive."""

_EVERY_SECONDS = 0.5
_KEPT_MILLISECONDS = 60_000

NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""
"""Lua that sets `now`, milliseconds since 1970 by the server's clock."""

_BEAT = f"""{NOW}
for _, name in ipairs(ARGV) do redis.call('ZADD', KEYS[1], now, name) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - {_KEPT_MILLISECONDS})
redis.call('PEXPIRE', KEYS[1], {_KEPT_MILLISECONDS})
return 1
"""

_COUNT = f"""{NOW}
return redis.call('ZCOUNT', KEYS[1], now - {LIVE_MILLISECONDS}, '+inf')
"""

_log = logging.getLogger(__name__)


def heartbeats_key(prefix: str, role: Role) -> str:
    """Return the key of the sorted set of a role's processes."""
    return f"{prefix}workers:{role}"


def new_process_name() -> str:
    """Name a worker process, unlike any other, and so that an operator can find it."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


class Heartbeat:
    """Says from a thread of its own that processes live, whatever else this process is busy with.

    Args:
        client: a connection for this thread alone; it is closed by `stop`.
        key: see `heartbeats_key`.
        names: returns the names of the processes that live now.
    """

    def __init__(self, client: "redis.Redis", key: str, names: Callable[[], Sequence[str]]) -> None:
        self._client = client
        self._key = key
        self._names = names
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reme-heartbeat", daemon=True)

    def start(self) -> None:
        """Begin; whether Redis can be reached does not matter yet."""
        self._thread.start()

    def stop(self) -> None:
        """End, and take the names back so that nobody waits for these processes."""
        self._stopped.set()
        self._thread.join(timeout=1)
        try:
            if names := self._names():
                self._client.zrem(self._key, *names)
        except redis.RedisError:
            pass  # they count as gone soon anyway
        self._client.close()

    def _run(self) -> None:
        reachable = True
        while True:
            try:
                if names := self._names():
                    self._client.eval(_BEAT, 1, self._key, *names)
                reachable = True
            except redis.RedisError as error:
                if reachable:
                    _log.warning("no heartbeat: Redis cannot be reached (%s)", type(error).__name__)
                reachable = False
            if self._stopped.wait(_EVERY_SECONDS):
                return


async def count_live(client: "Redis", key: str) -> int:
    """Return how many processes of a role live.

    Raises:
        redis.RedisError: the server cannot be reached.
    """
    return int(await client.eval(_COUNT, 1, key))
