"""How the latest decision request of any worker ended, for `/ready` of any replica."""

from dataclasses import asdict
from datetime import datetime
from time import monotonic

import orjson
from redis.asyncio import Redis

from reme_compact.decision.health import DecisionModelHealth, LastRequest

_REWRITTEN_AFTER_SECONDS = 1.0


def health_key(prefix: str) -> str:
    """Return the key of the latest outcome."""
    return f"{prefix}decision_model"


class SharedHealth:
    """Writes the health of this process's decision model where the API finds it: a change at once, the same rarely.

    Args:
        client: the server.
        key: see `health_key`.
        expires_after_seconds: how long an outcome says something about now.
        health: is told how each request ended.
    """

    def __init__(self, client: Redis, key: str, expires_after_seconds: float, health: DecisionModelHealth) -> None:
        self._health = health
        self._client = client
        self._key = key
        self._expires = int(expires_after_seconds * 1000)
        self._written: LastRequest | None = None
        self._written_at = float("-inf")

    async def publish(self) -> None:
        """Write the latest outcome unless it says what was written a moment ago.

        Raises:
            redis.RedisError: the server cannot be reached.
        """
        last = self._health.last_request
        if last is None or (_says_the_same(last, self._written) and not self._is_old()):
            return
        self._written, self._written_at = last, monotonic()
        await self._client.set(self._key, orjson.dumps(asdict(last)), px=self._expires)

    def _is_old(self) -> bool:
        return monotonic() - self._written_at > _REWRITTEN_AFTER_SECONDS


def _says_the_same(one: LastRequest, other: LastRequest | None) -> bool:
    return other is not None and (one.worked, one.error) == (other.worked, other.error)


async def read_health(client: Redis, key: str) -> LastRequest | None:
    """Return the latest outcome; null if none is known.

    Raises:
        redis.RedisError: the server cannot be reached.
    """
    written = await client.get(key)
    if written is None:
        return None
    document = orjson.loads(written)
    return LastRequest(document["worked"], datetime.fromisoformat(document["at"]), document["error"])
