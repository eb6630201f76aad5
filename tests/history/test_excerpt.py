"""Excerpts are verbatim, never longer than allowed, and cut where a reader would accept it."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.history.excerpt import GAP, excerpt
from reme_compact.history.graphemes import boundary_at_or_after, boundary_at_or_before

CLUSTERS = [
    "a",
    " ",
    "\r\n",
    "\r",
    "\n",
    "é",
    "e\u0301",
    "漢",
    "👍🏽",
    "👨‍👩‍👧",
    "🇩🇪",
    "क्षि",
    "각",
    "\u0600a",
    "\ud800",
]
LOOSE = [
    *"ab\r\n \t",
    "\u0301",
    "\u200d",
    "\ufe0f",
    "👩",
    "🏽",
    "🇩",
    "🇪",
    "क",
    "्",
    "\u0600",
    "ᄀ",
    "ᅡ",
    "ᆨ",
    "\ud800",
    "\udc00",
]
texts = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(CLUSTERS), max_size=120).map("".join),
    st.lists(st.sampled_from(LOOSE), max_size=200).map("".join),
    st.lists(st.tuples(st.sampled_from(LOOSE), st.integers(1, 150)).map(lambda run: run[0] * run[1]), max_size=8).map(
        "".join
    ),
)


def _boundaries(text: str) -> set[int]:
    """Segment a whole text from its beginning."""
    return {0, *(match.end() for match in regex.finditer(r"\X", text, regex.DOTALL))}


@given(texts, st.integers(-2, 700))
def test_boundaries_are_those_of_the_whole_text(text: str, index: int) -> None:
    boundaries = _boundaries(text)
    inside = min(max(index, 0), len(text))
    assert boundary_at_or_before(text, index) == max(place for place in boundaries if place <= inside)
    assert boundary_at_or_after(text, index) == min(place for place in boundaries if place >= inside)


@given(texts, st.integers(0, 700))
def test_an_excerpt_is_both_ends_of_the_text_and_never_longer(text: str, limit: int) -> None:
    shown = excerpt(text, limit)
    assert len(shown) <= limit
    if len(text) <= limit:
        assert shown == text
        return
    boundaries = _boundaries(text)
    cuts = [place for place in range(len(shown) + 1) if shown.startswith(GAP, place)] or [len(shown)]
    for cut in cuts:
        head, tail = shown[:cut], shown[cut + len(GAP) :]
        if text.startswith(head) and text.endswith(tail):
            assert len(head) in boundaries
            assert len(text) - len(tail) in boundaries
            return
    pytest.fail("the excerpt is not made of the text's two ends")


@pytest.mark.parametrize("limit", range(60))
def test_plain_text_fills_the_limit(limit: int) -> None:
    text = "".join(chr(97 + n % 26) for n in range(60))
    shown = excerpt(text, limit)
    assert len(shown) == limit
    if limit > len(GAP):
        head, tail = shown.split(GAP)
        assert text.startswith(head)
        assert text.endswith(tail)
        assert 0 <= len(head) - len(tail) <= 1
    else:
        assert text.startswith(shown)


def test_a_text_as_long_as_the_limit_is_whole() -> None:
    assert excerpt("abc", 3) == "abc"
    assert excerpt("", 0) == ""


@pytest.mark.parametrize("cluster", ["\r\n", "👨‍👩‍👧", "🇩🇪", "e\u0301", "क्षि"])
def test_a_cluster_stands_whole_or_not_at_all(cluster: str) -> None:
    text = cluster * 40
    for limit in range(len(text)):
        head, _, tail = excerpt(text, limit).partition(GAP)
        assert head == cluster * (len(head) // len(cluster))
        assert tail == cluster * (len(tail) // len(cluster))


@pytest.mark.parametrize("character", ["\u0301", "\u200d", "🇩", "👩\u200d", "क्", "\u0600"])
def test_a_very_long_cluster_or_run_is_cut_only_where_it_ends(character: str) -> None:
    text = "start " + character * 20_000 + " end"
    boundaries = _boundaries(text)
    for index in (6, 7, 70, 4_001, 10_000, 19_999, len(text) - 5):
        assert boundary_at_or_before(text, index) in boundaries
        assert boundary_at_or_after(text, index) in boundaries
        assert boundary_at_or_before(text, index) <= index <= boundary_at_or_after(text, index)


@pytest.mark.parametrize("unit", ["\U0001f1e6", "e\u0301", "\u200d👩", "가", "👍🏽"])
def test_long_runs_of_one_kind_are_cut_without_looking_at_all_of_them(unit: str) -> None:
    # Quadratic work would take minutes here, and the timeout of the test would end it.
    text = unit * 400_000
    shown = excerpt(text, 301)
    head, tail = shown.split(GAP)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(shown) <= 301
