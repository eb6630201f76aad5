"""The references of a session, as protections and the step ask for them."""

import pytest

from reme_compact.archive.reference import Session, reference_to
from reme_compact.archive.session_references import OwnReferences

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
