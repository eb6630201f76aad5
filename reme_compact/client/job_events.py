"""The events of a job: asked for, and read out of what one connection brings."""

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from ssl import SSLContext
from typing import get_args

from reme_compact.client.address import Address
from reme_compact.client.answers import json_or_none, refusal
from reme_compact.client.event_stream import EventParser, StreamEvent, StreamFlawError
from reme_compact.client.exchange import open_stream, read_body
from reme_compact.client.jobs import checked_id, jobs_path
from reme_compact.client.problems import ReportedProblemError, is_problem
from reme_compact.client.sent import Sent
from reme_compact.client.unreachable import not_a_service
from reme_compact.contract.errors import ReMeError
from reme_compact.contract.job import EventType, JobEvent

SILENCE_SECONDS = 45.0
"""A service says something every 15 seconds; after three times that the connection is dead."""

MEDIA_TYPE = "text/event-stream"

_PIECE = 64 * 1024
_EVENT_ID = re.compile("[\x21-\x7e]{1,100}")
_TYPES = frozenset(get_args(EventType))


def events_sent(job_id: str, after: str | None, headers: Mapping[str, str]) -> Sent:
    """Return what is sent for the events of a job after one of them; null: from the beginning."""
    going_on = {} if after is None else {"Last-Event-ID": after}
    asked = {"Accept": MEDIA_TYPE, "Cache-Control": "no-store", **headers, **going_on}
    return Sent("GET", jobs_path(checked_id(job_id), "events"), asked)


@contextmanager
def open_events(
    address: Address,
    sent: Sent,
    *,
    timeout_seconds: float,
    tls: SSLContext | None = None,
) -> Iterator[Generator[JobEvent, None, None]]:
    """Ask for events and give them as one connection brings them.

    Args:
        address: the service.
        sent: as `events_sent` says.
        timeout_seconds: for the answer to begin.
        tls: whom to trust where the address is `https`.

    Raises:
        ServiceUnreachableError: nothing that speaks this protocol answered, or the connection broke.
        ReportedProblemError: the service refused, or failed on the way.

    """
    with open_stream(
        address, sent, timeout_seconds=timeout_seconds, silence_seconds=SILENCE_SECONDS, tls=tls
    ) as response:
        if response.status != HTTPStatus.OK:
            raise refusal(address, response.status, json_or_none(read_body(response)))
        reader = EventReader(address, response.status, response.headers.get_content_type())
        yield _read(iter(lambda: response.read1(_PIECE), b""), reader)


def _read(pieces: Iterator[bytes], reader: "EventReader") -> Generator[JobEvent, None, None]:
    for piece in pieces:
        yield from reader.feed(piece)


class EventReader:
    """Reads the events of a job out of pieces of bytes, which may end anywhere.

    Raises:
        ServiceUnreachableError: what comes is no stream of events.

    """

    def __init__(self, address: Address, status: int, content_type: str) -> None:
        self._address = address
        self._status = status
        self._parser = EventParser()
        if content_type != MEDIA_TYPE:
            raise self._unlike_a_service("no stream of events")

    def feed(self, piece: bytes) -> Iterator[JobEvent]:
        """Take the next bytes and yield the events that they complete.

        Raises:
            ServiceUnreachableError: no service sends such events.
            ReportedProblemError: the service failed on the way.

        """
        try:
            for event in self._parser.feed(piece):
                yield from _job_event(event)
        except StreamFlawError as flaw:
            raise self._unlike_a_service(str(flaw)) from None

    def _unlike_a_service(self, flaw: str) -> ReMeError:
        return not_a_service(self._address, f"HTTP status {self._status}; {flaw}")


def _job_event(event: StreamEvent) -> Iterator[JobEvent]:
    """Yield what an event says; nothing for a type that only a newer service knows."""
    data = json_or_none(event.data.encode())
    if event.type == "error" and is_problem(data):
        raise ReportedProblemError(data)
    if event.type not in _TYPES:
        return
    if not isinstance(data, dict):
        raise StreamFlawError("an event that cannot be read")
    if event.id and not _EVENT_ID.fullmatch(event.id):
        raise StreamFlawError("an event with an id that cannot be one")
    yield JobEvent.model_validate({"id": event.id, "type": event.type, "data": data})
