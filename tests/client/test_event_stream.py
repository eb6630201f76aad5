from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.client import event_stream
from reme_compact.client.event_stream import EventParser, StreamEvent, StreamFlawError

STREAM = (
    "\ufeffid: 1-0\nevent: queued\ndata: {}\n\n"
    ": ping\n\n"
    "id: 2-0\r\nevent: started\r\ndata: {\r\ndata:  größer 🙂}\r\n\r\n"
    "event: empty\n\nretry: 5\nfoo\ndata\rdata: last\r\r"
).encode()
EVENTS = [
    StreamEvent("1-0", "queued", "{}"),
    StreamEvent("2-0", "started", "{\n größer 🙂}"),
    StreamEvent("2-0", "message", "\nlast"),
]


def read(*pieces: bytes) -> list[StreamEvent]:
    parser = EventParser()
    return [event for piece in pieces for event in parser.feed(piece)]


def test_fields_comments_and_line_ends() -> None:
    assert read(STREAM) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_pieces_may_end_anywhere(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    assert read(*(STREAM[start:end] for start, end in pairwise(edges))) == EVENTS


def test_every_byte_alone() -> None:
    assert read(*(STREAM[at : at + 1] for at in range(len(STREAM)))) == EVENTS


def test_an_event_that_breaks_off_never_was() -> None:
    assert read(b"id: 1-0\ndata: {}\n") == []
    assert read(b"id: 1-0\ndata: {}\n\nid: 2-0\nda") == [StreamEvent("1-0", "message", "{}")]


def test_bytes_that_are_not_text_do_no_harm() -> None:
    assert read(b"data: \xff\n\nid: \0\n\n") == [StreamEvent("", "message", "\ufffd")]


@pytest.mark.parametrize("piece", [b"x" * 10, b"data: x\n"])
def test_what_has_no_end_is_given_up(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "_LONGEST", 1000)
    with pytest.raises(StreamFlawError, match="without end"):
        read(*[piece] * 2000)


@given(st.lists(st.binary(max_size=30)))
def test_no_bytes_raise_anything(pieces: list[bytes]) -> None:
    read(*pieces)
