"""A real server for tests, on a unix socket; it ends with the tests, also when they are killed."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import redis
from pydantic import SecretStr
from reme_workers.redis_server import RedisServer

from reme_compact.presets.schema import RedisSettings


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """Give a server that all tests share, each under a prefix of its own."""
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def durable_server(tmp_path: Path) -> Iterator[RedisServer]:
    """Give a server of one's own that keeps its data when it is killed."""
    with RedisServer(tmp_path / "redis", appendonly=True) as server:
        yield server


def settings_for(server: RedisServer, prefix: str | None = None) -> RedisSettings:
    """Return settings that name a server, with a prefix that nobody else uses."""
    return RedisSettings(url=SecretStr(server.url), key_prefix=prefix or f"test:{secrets.token_hex(6)}:")


def keys_without_expiry(server: RedisServer, prefix: str) -> set[str]:
    """Return the keys under a prefix that would stay for ever, without the prefix."""
    with redis.Redis.from_url(server.url) as client:
        keys = [key.decode() for key in client.scan_iter(f"{prefix}*")]
        return {key.removeprefix(prefix) for key in keys if client.ttl(key) == -1}


async def until(condition: Callable[[], Awaitable[object]], *, within_seconds: float = 20.0) -> None:
    """Return when a condition holds that nobody tells of, only time."""
    async with asyncio.timeout(within_seconds):
        while not await condition():  # noqa: ASYNC110 - nothing could set an event
            await asyncio.sleep(0.02)


async def wait_until_up_for(server: RedisServer, seconds: int) -> None:
    """Return when a server has run for so long; it counts whole seconds."""
    with redis.Redis.from_url(server.url) as client:

        async def is_so_old() -> bool:
            return bool(client.info("server")["uptime_in_seconds"] >= seconds)

        await until(is_so_old)
