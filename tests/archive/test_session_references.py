"""The references of a session, as protections and the step ask for them."""

from pathlib import Path

import pytest

from reme_compact.archive.archive import Archive
from reme_compact.archive.opening import storage_at
from reme_compact.archive.reference import Session, reference_to
from reme_compact.archive.session_references import OwnReferences
from reme_compact.archive.storing import NewEntry
from reme_compact.contract.errors import InvalidRequestError, ReferenceNotFoundError

MINE, THEIRS = Session("travel", "anna"), Session("travel", "bert")


@pytest.mark.parametrize("text", ["", "the original", "grün 👩‍👩‍👧\r\n", "\ud800"])
def test_a_reference_is_known_before_anything_is_stored(text: str) -> None:
    reference = OwnReferences(MINE).to(text)
    assert reference == str(reference_to(MINE, text))
    assert OwnReferences(MINE).copied(reference) == reference
    assert OwnReferences(MINE).copied(f"[Compacted output. Recover from: {reference}]") == reference
    assert OwnReferences(THEIRS).copied(reference) is None


@pytest.mark.parametrize("odd", ["", "archive", "archive/x/y", "archive/../../etc/passwd", "\ud800", "A" * 10_000])
def test_what_is_no_reference_opens_nothing(odd: str) -> None:
    assert OwnReferences(MINE).copied(odd) is None
    whole = OwnReferences(MINE).to("x")
    for spoiled in (whole.upper(), whole[:-1], f"/{whole}", f"{whole}{whole}"):
        assert OwnReferences(MINE).copied(spoiled) is None


def test_a_session_may_be_given_by_its_name(tmp_path: Path) -> None:
    archive = Archive(storage_at(str(tmp_path / "archive")))
    stored = archive.store("run-7", NewEntry("c1", "look", "the original"))
    assert archive.original(stored.reference, "run-7") == archive.original(stored.reference, Session("run-7"))
    assert archive.read(stored.reference, "run-7").text == "the original"
    assert len(archive.entries("run-7").envelopes) == len(archive.stat(stored.reference, "run-7").envelopes) == 1
    with pytest.raises(ReferenceNotFoundError):
        archive.original(stored.reference, Session("run-7", owner="anna"))
    with pytest.raises(InvalidRequestError, match="session"):
        archive.original(stored.reference, " ")
    assert archive.verify("run-7").damages == ()
    assert archive.delete("run-7").removed
