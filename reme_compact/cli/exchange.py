"""One exchange over HTTP with a service, bounded in time.

The standard library's client does: one request, to an address that was given, without proxies or redirects. It is
loaded in a tenth of the time that a full HTTP library takes, and a call is mostly start-up.
"""

import http.client
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.message import Message
from typing import Generic, TypeVar

from reme_compact.cli.address import Address
from reme_compact.cli.unreachable import explained
from reme_compact.contract.errors import ServiceUnavailableError

T = TypeVar("T")

_PIECE = 1024 * 1024
_LONGEST_BODY = 1024 * _PIECE


@dataclass(frozen=True, slots=True)
class Sent:
    """What is sent: the path is percent-encoded; `body` null means none."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, as it came."""

    status: int
    headers: Message
    body: bytes


def exchange(address: Address, sent: Sent, *, timeout_seconds: float) -> Reply:
    """Send a request and read the whole reply.

    Raises:
        ServiceUnavailableError: nothing that speaks HTTP answered in time.
        UsageError: the address cannot be called.

    """

    def run() -> Reply:
        connection, response = _open(address, sent, timeout_seconds)
        try:
            return Reply(response.status, response.headers, read_body(response))
        finally:
            connection.close()

    return _Within(timeout_seconds, run).result(address)


@contextmanager
def open_stream(
    address: Address, sent: Sent, *, timeout_seconds: float, silence_seconds: float
) -> Iterator[http.client.HTTPResponse]:
    """Send a request and give the reply to be read as it comes; what goes wrong while reading is explained, too.

    Args:
        address: the service.
        sent: the request.
        timeout_seconds: for the reply to begin.
        silence_seconds: longest time without a byte.

    Raises:
        ServiceUnavailableError: nothing that speaks HTTP answered in time, or the connection broke.
        UsageError: the address cannot be called.

    """
    opened = _Within(timeout_seconds, lambda: _open(address, sent, silence_seconds))
    connection, response = opened.result(address)
    try:
        yield response
    except TimeoutError:
        raise ServiceUnavailableError(
            f"The service at {address} said nothing for {silence_seconds:g} seconds."
        ) from None
    except (OSError, http.client.HTTPException) as error:
        raise explained(error, address, silence_seconds) from None
    finally:
        response.close()
        connection.close()


def read_body(response: http.client.HTTPResponse) -> bytes:
    """Read a body in pieces: the length that a stranger declares may be any number, and its end may never come."""
    body = bytearray()
    while piece := response.read(_PIECE):
        body += piece
        if len(body) > _LONGEST_BODY:
            raise http.client.HTTPException
    if response.length:
        raise http.client.IncompleteRead(b"")
    return bytes(body)


def _open(
    address: Address, sent: Sent, step_seconds: float
) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=step_seconds)
    try:
        with suppress(BrokenPipeError, ConnectionResetError):  # a body that is refused is answered before its end
            connection.request(sent.method, sent.path, sent.body, dict(sent.headers))
        return connection, connection.getresponse()
    except BaseException:
        connection.close()
        raise


class _Within(Generic[T]):
    """Something done in a thread, because socket timeouts bound single steps and name lookups not at all."""

    def __init__(self, timeout_seconds: float, do: Callable[[], T]) -> None:
        self._timeout_seconds = timeout_seconds
        self._do = do
        self._outcome: list[T] = []
        self._error: BaseException = TimeoutError()

    def result(self, address: Address) -> T:
        """Wait for what comes of it, or raise what that means to the caller."""
        thread = threading.Thread(target=self._run, daemon=True, name="reme-call")
        thread.start()
        thread.join(self._timeout_seconds)
        if self._outcome:
            return self._outcome[0]
        raise explained(self._error, address, self._timeout_seconds) from None

    def _run(self) -> None:
        try:
            self._outcome.append(self._do())
        except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
            self._error = error
