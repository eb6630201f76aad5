"""An original comes back whole over JSON, and whoever answers something else is no service."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from kept_originals import AWKWARD, archive_at, keep, serves_pieces
from scripted_service import ScriptedService

from reme_compact.cli.address import Address
from reme_compact.cli.served_original import ServedOriginal
from reme_compact.cli.service_keys import Service
from reme_compact.contract.errors import ServiceUnavailableError


def served(scripted: ScriptedService, reference: str) -> ServedOriginal:
    return ServedOriginal(Service(Address("127.0.0.1", scripted.port), 30.0, ()), reference)


@pytest.mark.parametrize("text", ["", "x", "line\n" * 10_000, AWKWARD, "\ud83d\ude00" * 12], ids=range(5))
def test_pieces_join_to_the_original(text: str, scripted: ScriptedService, tmp_path: Path) -> None:
    archive = archive_at(tmp_path / "archive")
    reference = keep(archive, text)
    serves_pieces(scripted, archive, reference)
    joined = "".join(piece.text for piece in served(scripted, reference).rest(0))
    assert joined == text
    assert sha256(joined.encode("utf-8", "surrogatepass")).hexdigest() == reference.rpartition("/")[2]


def test_surrogates_that_json_would_join_come_in_pieces_of_their_own(scripted: ScriptedService, tmp_path: Path) -> None:
    archive = archive_at(tmp_path / "archive")
    reference = keep(archive, "ab\ud83d\ude00cd")
    serves_pieces(scripted, archive, reference)
    piece = served(scripted, reference).piece(0, 8192)
    assert "ab\ud83d\ude00cd".startswith(piece.text)
    assert piece.next_offset == len(piece.text)
    assert not piece.complete


def test_reading_goes_on_from_an_offset(scripted: ScriptedService, tmp_path: Path) -> None:
    archive = archive_at(tmp_path / "archive")
    reference = keep(archive, "0123456789" * 5_000)
    serves_pieces(scripted, archive, reference)
    pieces = list(served(scripted, reference).rest(20_003))
    assert [piece.offset for piece in pieces] == [20_003, 20_003 + 16_384]
    assert "".join(piece.text for piece in pieces) == ("0123456789" * 5_000)[20_003:]


REFERENCE = f"archive/{'a' * 32}/{'b' * 64}"
PIECE = {"ref": REFERENCE, "text": "abc", "offset": 0, "next_offset": 3, "total_chars": 9, "complete": False}


def test_a_newer_service_may_have_more_to_say(scripted: ScriptedService) -> None:
    scripted.answers(f"GET /{REFERENCE}", 200, {**PIECE, "tool": "read_file"})
    assert served(scripted, REFERENCE).piece(0, 3).text == "abc"


@pytest.mark.parametrize(
    "changes",
    [
        {"ref": f"archive/{'c' * 32}/{'b' * 64}"},
        {"text": None},
        {"text": "abcd"},
        {"text": "ab"},
        {"offset": 1},
        {"offset": -1},
        {"offset": True},
        {"next_offset": None},
        {"next_offset": 0, "text": ""},
        {"next_offset": 10, "text": "a" * 10},
        {"next_offset": "3"},
        {"total_chars": 2},
        {"total_chars": 9.0},
        {"complete": True},
        {"complete": 0},
    ],
    ids=repr,
)
def test_another_answer_is_no_service(changes: dict[str, Any], scripted: ScriptedService) -> None:
    scripted.answers(f"GET /{REFERENCE}", 200, {**PIECE, **changes})
    with pytest.raises(ServiceUnavailableError, match="is not a reme service") as caught:
        served(scripted, REFERENCE).piece(0, 3)
    assert not caught.value.retryable


@pytest.mark.parametrize("value", [[], "abc", None, 3])
def test_an_answer_that_is_no_object_is_no_service(value: Any, scripted: ScriptedService) -> None:
    scripted.answers(f"GET /{REFERENCE}", 200, value)
    with pytest.raises(ServiceUnavailableError, match="no piece of an original"):
        served(scripted, REFERENCE).piece(0, 3)


def test_a_service_that_never_gets_on_ends_the_reading(scripted: ScriptedService) -> None:
    scripted.answers(f"GET /{REFERENCE}", 200, PIECE)
    with pytest.raises(ServiceUnavailableError, match="at another place"):
        list(served(scripted, REFERENCE).rest(0))
    assert len(scripted.asked) == 2
