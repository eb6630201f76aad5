"""One HTTP connection: uvicorn's, with time limits and with answers of ours where uvicorn has none."""

import asyncio
import logging
from typing import Any

import h11
from anyio import move_on_after
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol, RequestResponseCycle

from reme_compact.contract.errors import RequestTimeoutError, TooBusyError
from reme_compact.service.connection_guard import ConnectionGuard
from reme_compact.service.problems import problem_of, problem_of_http
from reme_compact.service.throttled_log import ThrottledLog

logger = logging.getLogger(__name__)

_CLOSE = (b"connection", b"close")
_not_http = ThrottledLog(logger, "bytes that are no HTTP request", logging.INFO)


class GuardedConnection(H11Protocol):
    """A connection that a `ConnectionGuard` watches.

    Args:
        guard: knows the limits.
        arguments: uvicorn's.
    """

    def __init__(self, *, guard: ConnectionGuard, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._guard = guard
        self._serve_request: Any = self.app
        self.app = self._serve
        self._half_closed = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit or refuse the client."""
        super().connection_made(transport)
        now = self.loop.time()
        if self._guard.admits(len(self.connections), now):
            self._guard.waits(self, now)
            return
        busy = f"The service already has {self._guard.limit} connections, its limit (service.max_connections)."
        self._end_with(problem_of(TooBusyError(f"{busy} Try again shortly.")))

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._guard.ended(self)
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """Note that the client reads."""
        self._guard.progressed(self)
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Wait for the next request; one that is there already is served by what this calls."""
        self._guard.waits(self, self.loop.time())
        super().on_response_complete()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Keep the way to the client open if its request is complete: it may have shut down only its own side."""
        cycle = self._cycle()
        if cycle is None or cycle.response_complete or cycle.more_body:
            return None
        self._half_closed = True
        cycle.keep_alive = False
        cycle.message_event.set()
        return True

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP with a problem document."""
        _not_http.happened(client=":".join(map(str, self.client or ())))
        cycle = self._cycle()
        if cycle is not None and cycle.response_started and not cycle.response_complete:
            self.transport.close()
        else:
            self._end_with(problem_of_http(400, msg, None))

    def unsent_bytes(self) -> int:
        """Return how much of its answers waits for the client to read."""
        return self.transport.get_write_buffer_size()

    def give_up_waiting(self) -> None:
        """End the connection: its next request did not come, or not wholly."""
        if self.conn.trailing_data[0]:
            self._end_with(
                problem_of(
                    RequestTimeoutError(
                        "The head of the request did not arrive in time (service.request_read_seconds)."
                    )
                )
            )
        else:
            self.transport.close()

    def cut(self) -> None:
        """End the connection at once."""
        cycle = self._cycle()
        if cycle is not None:
            cycle.disconnected = True
        self.transport.abort()

    def _cycle(self) -> RequestResponseCycle | None:
        """Return the request that is or was served last, which uvicorn's type says there always is."""
        return self.cycle

    def _end_with(self, answer: Response) -> None:
        """Write an answer to no request, and close."""
        if self.transport.is_closing():
            return
        reason = STATUS_PHRASES[answer.status_code].decode()
        lines = [f"HTTP/1.1 {answer.status_code} {reason}".encode()]
        lines += [name + b": " + value for name, value in [*answer.raw_headers, _CLOSE]]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(answer.body)]))
        self.transport.close()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; the application's own work is done by the application."""
        self._guard.asked(self)
        is_complete = False

        async def hear() -> Message:
            nonlocal is_complete
            if not (is_complete and self._half_closed):
                message = await receive()
                if message["type"] != "http.request" or not (is_complete and self._half_closed):
                    is_complete = is_complete or not message.get("more_body", False)
                    return message
            return {"type": "http.disconnect"}

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                if self._has_unread_body():
                    message = {**message, "headers": [*message.get("headers", ()), _CLOSE]}
            elif not message.get("more_body", False) and self._has_unread_body():
                await send({**message, "more_body": True})
                await self._linger(receive)
                message = {"type": "http.response.body", "body": b"", "more_body": False}
            await send(message)

        try:
            await self._serve_request(scope, hear, tell)
        except asyncio.CancelledError:
            if not self._guard.stopping:
                raise
            if not self.cycle.response_complete:
                self.cut()

    def _has_unread_body(self) -> bool:
        """Tell whether the client is still sending the request that is being answered."""
        return self.conn.their_state is h11.SEND_BODY

    async def _linger(self, receive: Receive) -> None:
        """Take in what the client is still sending: closing at once would make its system throw our answer away."""
        with move_on_after(self._guard.linger_seconds):
            while (message := await receive()).get("more_body", False) and message["type"] == "http.request":
                pass
