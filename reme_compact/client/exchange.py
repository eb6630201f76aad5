"""One exchange over HTTP with a service, bounded in time.

The standard library's client does: one request, to an address that was given, without proxies or redirects. It is
loaded in a tenth of the time that a full HTTP library takes, and a call of the command line is mostly start-up.
"""

import http.client
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Generic, TypeVar

from reme_compact.client.address import Address
from reme_compact.client.sent import LONGEST_BODY, PIECE, Reply, Sent
from reme_compact.client.unreachable import explained, silent

T = TypeVar("T")


def exchange(address: Address, sent: Sent, *, timeout_seconds: float, tls: ssl.SSLContext | None = None) -> Reply:
    """Send a request and read the whole reply.

    Args:
        address: the service.
        sent: the request.
        timeout_seconds: for all of it.
        tls: whom to trust where the address is `https`; null: as the system does.

    Raises:
        ServiceUnreachableError: nothing that speaks HTTP answered in time.
        InvalidAddressError: the address cannot be called.

    """

    def run() -> Reply:
        connection, response = _open(address, sent, timeout_seconds, tls)
        try:
            return Reply(response.status, response.headers, read_body(response))
        finally:
            connection.close()

    return _Within(timeout_seconds, run).result(address)


@contextmanager
def open_stream(
    address: Address, sent: Sent, *, timeout_seconds: float, silence_seconds: float, tls: ssl.SSLContext | None = None
) -> Iterator[http.client.HTTPResponse]:
    """Send a request and give the reply to be read as it comes; what goes wrong while reading is explained, too.

    Args:
        address: the service.
        sent: the request.
        timeout_seconds: for the reply to begin.
        silence_seconds: longest time without a byte.
        tls: whom to trust where the address is `https`; null: as the system does.

    Raises:
        ServiceUnreachableError: nothing that speaks HTTP answered in time, or the connection broke.
        InvalidAddressError: the address cannot be called.

    """
    opened = _Within(timeout_seconds, lambda: _open(address, sent, silence_seconds, tls))
    connection, response = opened.result(address)
    try:
        yield response
    except TimeoutError:
        raise silent(address, silence_seconds) from None
    except (OSError, http.client.HTTPException) as error:
        raise explained(error, address, silence_seconds) from None
    finally:
        response.close()
        connection.close()


def read_body(response: http.client.HTTPResponse) -> bytes:
    """Read a body in pieces: the length that a stranger declares may be any number, and its end may never come."""
    body = bytearray()
    while piece := response.read(PIECE):
        body += piece
        if len(body) > LONGEST_BODY:
            raise http.client.HTTPException
    if response.length:
        raise http.client.IncompleteRead(b"")
    return bytes(body)


def _open(
    address: Address, sent: Sent, step_seconds: float, tls: ssl.SSLContext | None
) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = _connection(address, step_seconds, tls)
    try:
        with suppress(BrokenPipeError, ConnectionResetError):  # a body that is refused is answered before its end
            connection.request(sent.method, address.prefix + sent.path, sent.body, dict(sent.headers))
        return connection, connection.getresponse()
    except BaseException:
        connection.close()
        raise


def _connection(address: Address, step_seconds: float, tls: ssl.SSLContext | None) -> http.client.HTTPConnection:
    if address.scheme == "http":
        return http.client.HTTPConnection(address.host, address.port, timeout=step_seconds)
    trust = ssl.create_default_context() if tls is None else tls
    return http.client.HTTPSConnection(address.host, address.port, timeout=step_seconds, context=trust)


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
