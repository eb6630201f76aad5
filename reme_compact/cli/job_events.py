"""The events of a job, one after the other, also over connections that break."""

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from http import HTTPStatus
from typing import get_args

from reme_compact.cli.authorization import authorization
from reme_compact.cli.client import ReportedProblemError, is_problem, json_or_none, refusal
from reme_compact.cli.event_stream import EventParser, StreamEvent, StreamFlawError
from reme_compact.cli.exchange import Sent, open_stream, read_body
from reme_compact.cli.job_calls import advised, jobs_path
from reme_compact.cli.service_keys import Service
from reme_compact.cli.unreachable import NobodyListensError, not_a_service
from reme_compact.contract.errors import JobNotFoundError, ReMeError, ServiceUnavailableError
from reme_compact.contract.job import EventType, JobEvent

REFUSALS_AT_MOST = 5
"""So often in a row a new connection may be refused: then nobody listens there, which waiting rarely mends."""

WAITS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Seconds before each new connection, as long as no event comes; after the last the job is given up."""

_SILENCE_SECONDS = 45.0
"""A service says something every 15 seconds; after three times that the connection is dead."""

_RESTARTED = (
    "It was there a moment ago, so the service was restarted, and kept its jobs in memory, where they end with it. "
    "Submit the request again if its result is still wanted."
)
_PIECE = 64 * 1024
_EVENT_ID = re.compile("[\x21-\x7e]{1,100}")
_TYPES = frozenset(get_args(EventType))


def follow(
    connect: Callable[[str | None], Generator[JobEvent, None, None]],
    wait: Callable[[float], None],
    note: Callable[[str], None],
) -> Iterator[JobEvent]:
    """Yield every event once, until the last, `finished`, going on after the last one seen when a connection breaks.

    Args:
        connect: gives the events after an id; null: from the beginning.
        wait: waits so many seconds.
        note: takes a sentence about what is being done.

    Raises:
        NobodyListensError: connections are refused, the first one or several in a row.
        ReMeError: the first connection fails, no further one is of use, or too many in a row bring nothing.

    """
    last: str | None = None
    seen: set[str] = set()
    failures, refusals, connected = 0, 0, False
    while True:
        failure: ReMeError = ServiceUnavailableError("The service ended the stream of events before the job ended.")
        try:
            with closing(connect(last)) as events:
                for event in events:
                    connected = True
                    if event.id in seen:
                        continue  # whoever answers did not go on where it was asked to
                    if event.id:
                        last, failures = event.id, 0
                        seen.add(event.id)
                    yield event
                    if event.type == "finished":
                        return
        except ReMeError as error:
            if not connected or not error.retryable:
                raise
            failure = error
        connected = True
        refusals = refusals + 1 if isinstance(failure, NobodyListensError) else 0
        if failures == len(WAITS) or refusals == REFUSALS_AT_MOST:
            raise failure
        what = "nobody listens there any more" if refusals else "the stream of events broke"
        note(f"{what}; trying again in {WAITS[failures]:g} s")
        wait(WAITS[failures])
        failures += 1


def events_of(service: Service, job_id: str, after: str | None) -> Generator[JobEvent, None, None]:
    """Yield the events of a job as one connection brings them.

    Args:
        service: where.
        job_id: which job.
        after: id of the event after which to go on; null: from the beginning.

    Raises:
        ServiceUnavailableError: nothing that speaks this protocol answered, or the connection broke.
        ReportedError: the service refused, or failed on the way.

    """
    headers = {"Accept": "text/event-stream", "Cache-Control": "no-store", **authorization()}
    if after is not None:
        headers["Last-Event-ID"] = after
    sent = Sent("GET", jobs_path(job_id, "events"), headers)
    with open_stream(
        service.address, sent, timeout_seconds=service.timeout_seconds, silence_seconds=_SILENCE_SECONDS
    ) as response:
        if response.status != HTTPStatus.OK:
            error = refusal(service.address, response.status, json_or_none(read_body(response)))
            if not isinstance(error, ReportedProblemError):
                raise error
            if after is not None and error.code == JobNotFoundError.code:
                raise error.advised(_RESTARTED)
            raise advised(error, service, job_id)
        if response.headers.get_content_type() != "text/event-stream":
            raise not_a_service(service.address, f"HTTP status {response.status}; no stream of events")
        pieces = iter(lambda: response.read1(_PIECE), b"")
        try:
            yield from _read(pieces)
        except StreamFlawError as flaw:
            raise not_a_service(service.address, f"HTTP status {response.status}; {flaw}") from None


def _read(pieces: Iterable[bytes]) -> Iterator[JobEvent]:
    parser = EventParser()
    for piece in pieces:
        for event in parser.feed(piece):
            yield from _job_event(event)


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
