from collections.abc import Callable, Generator

import pytest

from reme_compact.client.errors import NobodyListensError
from reme_compact.client.following import REFUSALS_AT_MOST, WAITS, follow
from reme_compact.contract.errors import (
    ErrorFields,
    JobNotFoundError,
    ReMeError,
    ReportedError,
    ServiceUnavailableError,
    StoreUnavailableError,
)
from reme_compact.contract.job import EventType, JobEvent

Piece = JobEvent | ReMeError


def event(number: int, kind: EventType = "batch_scored") -> JobEvent:
    return JobEvent(id=f"{number}-0", type=kind)


class Service:
    """Gives the prepared streams one after the other, and then the last one again and again."""

    def __init__(self, *streams: list[Piece]) -> None:
        self._streams = list(streams)
        self.asked_after: list[str | None] = []
        self.waits: list[float] = []
        self.notes: list[str] = []

    def connect(self, after: str | None) -> Generator[JobEvent, None, None]:
        self.asked_after.append(after)
        for piece in self._streams.pop(0) if len(self._streams) > 1 else self._streams[0]:
            if isinstance(piece, ReMeError):
                raise piece
            yield piece

    def follow(self) -> list[str]:
        return [one.id for one in follow(self.connect, self.waits.append, self.notes.append)]


BROKEN = ServiceUnavailableError("The connection broke.")
REFUSED = NobodyListensError("Nobody is there.")


def test_an_undisturbed_stream_is_read_once() -> None:
    service = Service([event(1, "queued"), event(2, "finished"), event(3)])
    assert service.follow() == ["1-0", "2-0"]
    assert service.asked_after == [None]
    assert (service.waits, service.notes) == ([], [])


@pytest.mark.parametrize(
    "end",
    [[], [BROKEN], [StoreUnavailableError("Away.")], [ReportedError(StoreUnavailableError("Away.").fields())]],
    ids=["ended", "broken", "unavailable", "reported"],
)
def test_a_broken_stream_goes_on_after_the_last_event_seen(end: list[Piece]) -> None:
    service = Service([event(1, "queued"), event(2), *end], [BROKEN], [event(3), event(4, "finished")])
    assert service.follow() == ["1-0", "2-0", "3-0", "4-0"]
    assert service.asked_after == [None, "2-0", "2-0"]
    assert service.waits == list(WAITS[:2])
    assert len(service.notes) == 2


def test_waits_grow_until_the_job_is_given_up() -> None:
    service = Service([event(1)], [BROKEN])
    with pytest.raises(ServiceUnavailableError, match="broke"):
        service.follow()
    assert service.waits == list(WAITS) == sorted(WAITS)


def test_refused_connections_are_given_up_sooner() -> None:
    service = Service([event(1)], [REFUSED])
    with pytest.raises(NobodyListensError):
        service.follow()
    assert service.waits == list(WAITS[:REFUSALS_AT_MOST])
    assert len(service.notes) == REFUSALS_AT_MOST


def test_only_refusals_in_a_row_count() -> None:
    refused: list[list[Piece]] = [[REFUSED]] * (REFUSALS_AT_MOST - 1)
    service = Service([event(1)], *refused, [BROKEN], [REFUSED], [event(2, "finished")])
    assert service.follow() == ["1-0", "2-0"]


def test_a_stream_that_only_ever_ends_is_given_up() -> None:
    service = Service([event(1)], [])
    with pytest.raises(ServiceUnavailableError, match="before the job ended"):
        service.follow()
    assert service.waits == list(WAITS)


def test_the_same_event_again_is_no_headway() -> None:
    service = Service([event(1)])
    with pytest.raises(ServiceUnavailableError):
        service.follow()
    assert service.waits == list(WAITS)


def test_a_service_that_starts_from_the_beginning_again_is_read_without_repeats_and_given_up() -> None:
    service = Service([event(1), event(2)])
    followed = follow(service.connect, service.waits.append, service.notes.append)
    assert [next(followed).id, next(followed).id] == ["1-0", "2-0"]
    with pytest.raises(ServiceUnavailableError):
        next(followed)
    assert service.waits == list(WAITS)


def test_headway_starts_the_waits_anew() -> None:
    service = Service([event(1)], [BROKEN], [event(2)], [event(3, "finished")])
    service.follow()
    assert service.waits == [WAITS[0], WAITS[1], WAITS[0]]


@pytest.mark.parametrize("make", [lambda: BROKEN, lambda: JobNotFoundError("No.")], ids=["away", "refused"])
def test_a_first_connection_that_fails_is_a_failure_at_once(make: Callable[[], ReMeError]) -> None:
    service = Service([make()])
    with pytest.raises(ReMeError):
        service.follow()
    assert service.waits == []


def test_a_refusal_that_lasts_ends_the_watching() -> None:
    gone = ReportedError(ErrorFields(code="job_not_found", error="JobNotFoundError", message="No.", retryable=False))
    service = Service([event(1)], [gone], [event(2, "finished")])
    with pytest.raises(ReportedError):
        service.follow()
    assert service.waits == list(WAITS[:1])
