"""What happens to a job, as server-sent events.

FastAPI has such streams too, but a failure of theirs breaks the connection, their pings cannot be set, and they keep a
stopping server waiting; so only its writing of one event is used here.
"""

import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import anyio
from anyio import CancelScope, create_task_group, move_on_after
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.datastructures import Headers
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from reme_compact.contract.errors import ErrorFields, InvalidRequestError, ReMeError, TooBusyError
from reme_compact.contract.exception_places import exception_places
from reme_compact.contract.job import JobEvent
from reme_compact.contract.json_bytes import json_bytes
from reme_compact.service.problems import problem_of
from reme_compact.service.slots import Slots

logger = logging.getLogger(__name__)

LAST_EVENT_ID_HEADER = "Last-Event-ID"
EVENT_ID_PATTERN = "^[0-9]{1,20}-[0-9]{1,20}$"
_EVENT_ID = re.compile(r"([0-9]{1,20})-([0-9]{1,20})")
_LARGEST_NUMBER = 2**64 - 1
_CLOSING_SECONDS = 1
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


def last_event_id(headers: Headers) -> str | None:
    """Return the id after which a client wants to go on, or null for the beginning.

    Raises:
        InvalidRequestError: it can be the id of no event.

    """
    values = [value for value in headers.getlist(LAST_EVENT_ID_HEADER) if value]
    if not values:
        return None
    match = _EVENT_ID.fullmatch(values[0])
    if len(values) > 1 or match is None or max(map(int, match.groups())) > _LARGEST_NUMBER:
        problem = {"path": f"header.{LAST_EVENT_ID_HEADER}", "message": "must be the id of an event of this job"}
        raise InvalidRequestError([problem])  # type: ignore[list-item]
    return values[0]


class EventStream(StreamingResponse):
    """Sends events until they end, the client goes away or it is stopped; each of these takes effect at once.

    Args:
        events: what to send; closed at the end.
        slots: limit the streams; without a free one, the answer is a refusal.
        stopping: set when the stream has to end before its events do; the client resumes elsewhere.
        ping_seconds: how often a comment shows that the connection is alive.

    """

    media_type = "text/event-stream"

    def __init__(
        self,
        events: AsyncIterator[JobEvent],
        *,
        slots: Slots,
        stopping: anyio.Event | None,
        ping_seconds: float,
    ) -> None:
        super().__init__((), headers=_HEADERS)
        self._events = events
        self._slots = slots
        self._stopping = stopping
        self._ping_seconds = ping_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            with self._slots.take():
                await self._stream(receive, send)
        except TooBusyError as error:
            await problem_of(error)(scope, receive, send)

    async def _stream(self, receive: Receive, send: Send) -> None:
        turn = anyio.Lock()

        async def send_in_turn(content: bytes) -> None:
            async with turn:
                await send({"type": "http.response.body", "body": content, "more_body": True})

        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async with create_task_group() as tasks:
                ends: list[Callable[[], Awaitable[Any]]] = [
                    partial(self.listen_for_disconnect, receive),
                    partial(_send_events, self._events, send_in_turn),
                ]
                if self._stopping is not None:
                    ends.append(self._stopping.wait)
                for end in ends:
                    tasks.start_soon(_cancel_after, end, tasks.cancel_scope)
                tasks.start_soon(_ping, send_in_turn, self._ping_seconds)
        finally:
            await _close(self._events)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _cancel_after(work: Callable[[], Awaitable[Any]], scope: CancelScope) -> None:
    await work()
    scope.cancel()


async def _ping(send: Callable[[bytes], Awaitable[None]], seconds: float) -> None:
    while True:
        await anyio.sleep(seconds)
        await send(KEEPALIVE_COMMENT)


async def _send_events(events: AsyncIterator[JobEvent], send: Callable[[bytes], Awaitable[None]]) -> None:
    """Send all events; a failure on the way is the last one."""
    try:
        async for event in events:
            await send(_written(event.type, event.data, event.id))
    except ReMeError as error:
        await send(_written("error", error.fields()))
    except Exception as error:  # noqa: BLE001 - the answer has begun, so no handler can answer it any more
        logger.error("unforeseen failure of a stream", extra={"exception": exception_places(error)})
        fields = ErrorFields(
            code="internal_error",
            error="InternalError",
            message="The service failed unexpectedly; its log tells where. Resume with the last id.",
            retryable=True,
        )
        await send(_written("error", fields))


def _written(name: str, data: Any, event_id: str | None = None) -> bytes:
    return format_sse_event(event=name, data_str=json_bytes(data).decode(), id=event_id)


async def _close(events: AsyncIterator[JobEvent]) -> None:
    """End the generator now: left to the garbage collector, its connections would stay open for a while."""
    if isinstance(events, AsyncGenerator):
        with CancelScope(shield=True), move_on_after(_CLOSING_SECONDS):
            await events.aclose()
