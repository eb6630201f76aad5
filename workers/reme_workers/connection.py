"""Connections to the Redis server, and what to say when it does not answer.

redis-py waits five seconds for every answer unless told otherwise, which also ends a blocking command that is meant
to take longer. Nothing here blocks on the server: waiting is the doorbell's, on a connection without that limit.
"""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeVar

import redis
from redis import asyncio as redis_asyncio
from redis import exceptions
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from reme_compact.contract.errors import ConfigurationError, ReMeError, StorageFullError, StoreUnavailableError
from reme_compact.presets.schema import RedisSettings

SOCKET_SECONDS = 10.0
"""How long one read, write or connect may take; a large body on a slow network needs more than redis-py's 5 s."""

_MAX_CONNECTIONS = 32
_IDLE_SECONDS_BEFORE_A_CHECK = 30
_FIRST_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 0.5

_OUTAGES = (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.ReadOnlyError, OSError)
_REFUSED_CREDENTIALS = (exceptions.AuthenticationError, exceptions.AuthorizationError)

Result = TypeVar("Result")


def connect(settings: RedisSettings, *, max_connections: int = _MAX_CONNECTIONS) -> redis_asyncio.Redis:
    """Return a client for one event loop; it connects when it is used, and answers are bytes.

    When all connections are in use, a command waits for one instead of failing. A connection that turns out to be
    dead is replaced once; longer outages are left to `patiently`.

    Raises:
        ConfigurationError: there is no URL, or it is wrong.
    """
    try:
        pool = redis_asyncio.BlockingConnectionPool.from_url(
            url_of(settings),
            max_connections=max_connections,
            timeout=SOCKET_SECONDS,
            socket_timeout=SOCKET_SECONDS,
            socket_connect_timeout=SOCKET_SECONDS,
            health_check_interval=_IDLE_SECONDS_BEFORE_A_CHECK,
            retry=AsyncRetry(NoBackoff(), 1),
        )
    except ValueError:
        raise _wrong_url() from None
    return redis_asyncio.Redis.from_pool(pool)


def connect_blocking(settings: RedisSettings, *, socket_seconds: float | None = SOCKET_SECONDS) -> redis.Redis:
    """Return a client for threads; it connects when it is used, and answers are bytes.

    Args:
        settings: where the server is.
        socket_seconds: longest wait for an answer; null for commands that block for longer.

    Raises:
        ConfigurationError: there is no URL, or it is wrong.
    """
    try:
        return redis.Redis.from_url(
            url_of(settings),
            socket_timeout=socket_seconds,
            socket_connect_timeout=SOCKET_SECONDS,
            health_check_interval=_IDLE_SECONDS_BEFORE_A_CHECK,
            retry=Retry(NoBackoff(), 1),
        )
    except ValueError:
        raise _wrong_url() from None


def url_of(settings: RedisSettings) -> str:
    """Return the URL with its credentials.

    Raises:
        ConfigurationError: there is none.
    """
    if settings.url is None:
        raise ConfigurationError("execution.redis.url: is required with execution.runner 'celery'")
    return settings.url.get_secret_value()


def _wrong_url() -> ConfigurationError:
    return ConfigurationError(
        "execution.redis.url: must be redis://[user:password@]host:port/db, rediss://... or unix:///path"
    )


async def patiently(
    operation: Callable[[], Awaitable[Result]],
    *,
    patience_seconds: float,
    note_outage: Callable[[], None] = lambda: None,
) -> Result:
    """Await an operation, again and again while the server does not answer.

    Args:
        operation: may be done twice when an answer got lost, so it must be one that does no harm then.
        patience_seconds: after this, the last outage is raised.
        note_outage: is told of each one.

    Raises:
        StoreUnavailableError: the server does not answer, or refuses what it is asked.
        StorageFullError: the server's memory is full.
    """
    limit = monotonic() + patience_seconds
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            return await operation()
        except _OUTAGES as error:
            note_outage()
            if monotonic() + pause > limit or isinstance(_unwrapped(error), _REFUSED_CREDENTIALS):
                raise as_typed(error) from None
        except exceptions.RedisError as error:
            raise as_typed(error) from None
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def as_typed(error: BaseException) -> ReMeError:
    """Return what an error of redis-py means to a caller, without its text, which may name users and addresses."""
    error = _unwrapped(error)
    if isinstance(error, exceptions.OutOfMemoryError):
        return StorageFullError("The Redis server has no memory left; raise its maxmemory, or try again later.")
    if isinstance(error, _REFUSED_CREDENTIALS):
        return StoreUnavailableError("The Redis server refuses the credentials in execution.redis.url.")
    if isinstance(error, exceptions.NoPermissionError):
        return StoreUnavailableError("The Redis server does not allow this user a command, key or channel (see ACL).")
    if isinstance(error, exceptions.BusyLoadingError):
        return StoreUnavailableError("The Redis server is still loading its data; try again in a moment.")
    if isinstance(error, _OUTAGES):
        return StoreUnavailableError("The Redis server does not answer; jobs that it holds are not lost.")
    return StoreUnavailableError(f"The Redis server refused a command ({type(error).__name__}).")


def _unwrapped(error: BaseException) -> BaseException:
    """Return what a refused connection was refused for; redis-py makes every reason a lost connection."""
    cause = error.__cause__
    return cause if isinstance(cause, (*_REFUSED_CREDENTIALS, exceptions.BusyLoadingError)) else error
