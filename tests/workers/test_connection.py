"""What is said when Redis is not there, or not as configured."""

import pytest
from pydantic import SecretStr
from redis import exceptions
from reme_workers.connection import as_typed, connect, connect_blocking, patiently

from reme_compact.contract.errors import ConfigurationError, StorageFullError, StoreUnavailableError
from reme_compact.presets.schema import RedisSettings

pytestmark = pytest.mark.anyio


def settings(url: str) -> RedisSettings:
    return RedisSettings(url=SecretStr(url))


async def test_a_missing_url_is_said() -> None:
    with pytest.raises(ConfigurationError, match=r"redis\.url: is required"):
        connect(RedisSettings())


@pytest.mark.parametrize("url", ["http://user:hunter2@host", "host:6379", "redis://host:port/0"])
async def test_a_wrong_url_is_refused_without_repeating_it(url: str) -> None:
    for make in (connect, connect_blocking):
        with pytest.raises(ConfigurationError, match=r"redis\.url: must be") as refused:
            make(settings(url))
        assert url not in refused.value.message
        assert "hunter2" not in refused.value.message


@pytest.mark.parametrize("url", ["redis://user:word@127.0.0.1:6379/2", "rediss://127.0.0.1:6379", "unix:///a/socket"])
async def test_every_kind_of_address_is_taken(url: str) -> None:
    client = connect(settings(url))
    await client.aclose()
    connect_blocking(settings(url)).close()


@pytest.mark.parametrize(
    ("error", "typed", "words"),
    [
        (exceptions.ConnectionError("hunter2"), StoreUnavailableError, "does not answer"),
        (exceptions.TimeoutError("hunter2"), StoreUnavailableError, "does not answer"),
        (exceptions.AuthenticationError("hunter2"), StoreUnavailableError, "credentials"),
        (exceptions.BusyLoadingError("hunter2"), StoreUnavailableError, "loading"),
        (exceptions.NoPermissionError("hunter2"), StoreUnavailableError, "ACL"),
        (exceptions.ResponseError("hunter2"), StoreUnavailableError, "ResponseError"),
        (exceptions.OutOfMemoryError("hunter2"), StorageFullError, "memory"),
    ],
)
def test_errors_say_what_to_do_and_repeat_nothing(error: Exception, typed: type[Exception], words: str) -> None:
    said = as_typed(error)
    assert isinstance(said, typed)
    assert words in said.message
    assert said.retryable
    assert "hunter2" not in said.message


async def test_a_short_outage_goes_unnoticed() -> None:
    failures = [exceptions.ConnectionError(), exceptions.TimeoutError(), exceptions.BusyLoadingError()]
    noted: list[None] = []

    async def operation() -> str:
        if failures:
            raise failures.pop()
        return "done"

    assert await patiently(operation, patience_seconds=60, note_outage=lambda: noted.append(None)) == "done"
    assert len(noted) == 3


async def test_a_refusal_is_not_tried_again() -> None:
    calls: list[None] = []

    async def operation() -> None:
        calls.append(None)
        raise exceptions.AuthenticationError

    with pytest.raises(StoreUnavailableError):
        await patiently(operation, patience_seconds=60)
    assert len(calls) == 1
