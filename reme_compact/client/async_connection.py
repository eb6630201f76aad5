"""One exchange over HTTP without a thread: `anyio` carries the bytes, `h11` reads and writes the protocol."""

import http.client
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

import anyio
import h11
from anyio.abc import ByteStream

from reme_compact.client.address import Address
from reme_compact.client.sent import Sent

_PIECE = 64 * 1024
_LOST = (anyio.BrokenResourceError, anyio.ClosedResourceError)
_Event: TypeAlias = h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]


@dataclass(frozen=True, slots=True)
class FoundHeaders:
    """Header fields by their names in lower case."""

    fields: Mapping[str, str]

    def get(self, name: str, /) -> str | None:
        """Return the value of a field; null without one."""
        return self.fields.get(name.lower())

    def __contains__(self, name: str, /) -> bool:
        return name.lower() in self.fields


class AsyncConnection:
    """A connection for one request; close it whatever happens.

    What goes wrong is raised as the standard library's client raises it, so that it is explained in one place:
    OSError (ConnectionResetError where it broke) and http.client.HTTPException.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._protocol = h11.Connection(h11.CLIENT)
        self._ended = False

    @classmethod
    async def open(cls, address: Address, tls: ssl.SSLContext | None) -> "AsyncConnection":
        """Connect; the caller bounds how long that may take."""
        try:
            if address.scheme == "http":
                return cls(await anyio.connect_tcp(address.host, address.port))
            trust = ssl.create_default_context() if tls is None else tls
            return cls(
                await anyio.connect_tcp(
                    address.host, address.port, ssl_context=trust, tls=True, tls_standard_compatible=False
                )
            )
        except (anyio.EndOfStream, *_LOST):
            raise ConnectionResetError from None
        except OSError as error:
            raise _cause(error) from None

    async def request(self, address: Address, sent: Sent) -> h11.Response:
        """Send a request and return the head of its response, which may come before the whole request is sent."""
        payload = self._payload(address, sent)
        found: list[h11.Response] = []
        failure: Exception | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._send, payload)
            try:
                found.append(await self._response())
            except (OSError, http.client.HTTPException) as error:
                failure = error
            tasks.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return found[0]

    async def piece(self) -> bytes:
        """Return the next bytes of the body; none at its end."""
        while True:
            event = await self._next_event()
            if isinstance(event, h11.Data) and event.data:
                return bytes(event.data)
            if isinstance(event, h11.EndOfMessage):
                return b""

    async def close(self) -> None:
        """Let the connection go at once, also when the task is cancelled: nothing here waits for the other side."""
        with anyio.CancelScope(shield=True):
            await self._stream.aclose()

    def _payload(self, address: Address, sent: Sent) -> bytes:
        usual = address.port == (443 if address.scheme == "https" else 80)
        host = str(address).rpartition(":")[0] if usual else str(address)
        length = {} if sent.body is None else {"Content-Length": str(len(sent.body))}
        headers = {"Host": host, "Connection": "close", **sent.headers, **length}
        request = h11.Request(method=sent.method, target=address.prefix + sent.path, headers=list(headers.items()))
        events = [request, *([] if sent.body is None else [h11.Data(data=sent.body)]), h11.EndOfMessage()]
        return b"".join(self._protocol.send(event) or b"" for event in events)

    async def _send(self, payload: bytes) -> None:
        with suppress(*_LOST, OSError):  # a body that is refused is answered before its end
            await self._stream.send(payload)

    async def _response(self) -> h11.Response:
        while True:
            event = await self._next_event()
            if isinstance(event, h11.Response):
                return event

    async def _next_event(self) -> _Event:
        while True:
            try:
                event = self._protocol.next_event()
            except h11.RemoteProtocolError:
                raise ConnectionResetError if self._ended else http.client.HTTPException from None
            if isinstance(event, h11.ConnectionClosed):
                raise ConnectionResetError
            if event is not h11.NEED_DATA:
                return event
            self._protocol.receive_data(await self._receive())

    async def _receive(self) -> bytes:
        try:
            return await self._stream.receive(_PIECE)
        except anyio.EndOfStream:
            self._ended = True
            return b""
        except _LOST:
            raise ConnectionResetError from None


def headers_of(response: h11.Response) -> FoundHeaders:
    """Return the header fields of a response."""
    return FoundHeaders({name.decode("latin-1"): value.decode("latin-1") for name, value in response.headers})


def _cause(error: OSError) -> BaseException:
    """Return why no connection came about: the library tries several addresses and says only that none did."""
    cause: BaseException | None = error.__cause__
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    return cause if isinstance(cause, OSError) else error
