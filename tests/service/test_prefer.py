"""Which `Prefer` headers mean a wait."""

import pytest

from reme_compact.service.prefer import preference_applied, preferred_wait


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([], None),
        (["wait=5"], 5),
        (["WAIT = 5"], 5),
        (['wait="5"'], 5),
        (["wait=0"], 0),
        (["respond-async, wait=7"], 7),
        (["respond-async", "wait=7; note=x"], 7),
        (["wait=1", "wait=9"], 1),
        (["wait=600"], 60),
        (["wait=999999999"], 60),
        (['note="a, wait=3"'], None),
        (["waiting=5"], None),
        (["wait"], None),
        (["wait="], None),
        (["wait=-1"], None),
        (["wait=1.5"], None),
        (["wait=soon"], None),
        (["wait=٣"], None),
        (["wait=" + "9" * 10], 60),
        (["wait=" + "9" * 5000], 60),
        (["wait=" + "0" * 5000 + "7"], 7),
        (['"'], None),
    ],
)
def test_a_wait_is_read_and_shortened_and_anything_else_is_ignored(headers: list[str], seconds: float | None) -> None:
    assert preferred_wait(headers, 60) == seconds


def test_what_was_granted_is_written_as_it_was_asked_for() -> None:
    assert preference_applied(5) == "wait=5"
    assert preference_applied(60.0) == "wait=60"
