"""Calls to a running service as the command line makes them: with the key of the environment, and its advice."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from reme_compact.cli.usage import UsageError
from reme_compact.client.address import Address
from reme_compact.client.answers import Answer, answer_of
from reme_compact.client.authorization import API_KEY_VARIABLE, authorization
from reme_compact.client.errors import InvalidAddressError
from reme_compact.client.exchange import exchange
from reme_compact.client.problems import ReportedProblemError
from reme_compact.client.sent import json_sent
from reme_compact.contract.errors import UnauthorizedError


def call_service(
    address: Address,
    method: str,
    path: str,
    *,
    request: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_seconds: float,
) -> Answer:
    """Send a request and return what is answered as plain data.

    Args:
        address: the service.
        method: the HTTP method.
        path: path and query, percent-encoded.
        request: sent as JSON; null: no body.
        headers: further headers.
        timeout_seconds: for the whole call.

    Raises:
        ServiceUnavailableError: nothing that speaks this protocol answered in time.
        ReportedError: the service refused the request or failed.
        UsageError: the address cannot be called.
        ConfigurationError: the API key in the environment cannot be one.

    """
    sent = json_sent(method, path, request=request, headers={**authorization(), **(headers or {})})
    with in_words_of_the_command_line():
        return answer_of(address, exchange(address, sent, timeout_seconds=timeout_seconds))


@contextmanager
def in_words_of_the_command_line() -> Iterator[None]:
    """Raise a refused key with advice, and an address that cannot be called as the mistake in `host=` that it is."""
    try:
        yield
    except InvalidAddressError as error:
        raise UsageError(error.message) from None
    except UnauthorizedError as error:
        raise UnauthorizedError(f"{error.message}\n{_key_advice()}") from None
    except ReportedProblemError as problem:
        if problem.status == HTTPStatus.UNAUTHORIZED:
            raise problem.advised(_key_advice()) from None
        raise


def _key_advice() -> str:
    if authorization():
        return f"The key in {API_KEY_VARIABLE} is not one that this service knows; ask whoever runs it for another."
    return f"Put a key that this service knows into the environment variable {API_KEY_VARIABLE}."
