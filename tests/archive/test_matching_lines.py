"""Matching lines are found wherever the pieces are cut, and no pattern can hold anybody up."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.archive.line_pattern import LONGEST_PATTERN
from reme_compact.archive.matching_lines import MatchingLine, matching_lines
from reme_compact.contract.errors import InvalidRequestError

SECONDS = 30.0


def search(text: str, pattern: str, *, cuts: tuple[int, ...] = (), start: int = 0) -> list[MatchingLine]:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces = [text[begin:end] for begin, end in pairwise(edges)]
    return list(matching_lines(pieces, pattern, timeout_seconds=SECONDS, start=start))


def test_each_line_comes_with_the_offset_at_which_it_is_read() -> None:
    text = "one\ntwo needle\r\n\nneedle again"
    assert [(line.offset, line.text, line.found_at) for line in search(text, "needle")] == [
        (4, "two needle", 8),
        (17, "needle again", 17),
    ]


@pytest.mark.parametrize(
    ("text", "pattern", "found"),
    [
        ("", "", []),
        ("a\n", "", ["a"]),
        ("a\n\n", "", ["a", ""]),
        ("a\r\nb", "^a$", ["a"]),
        ("a\rb\nc", "b", ["a\rb"]),
        ("a\nb", r"a\sb", []),
        ("Grüße\n\U0001f469‍\U0001f680\n", "\U0001f680", ["\U0001f469‍\U0001f680"]),
        ("lone \ud800\nother", "\ud800", ["lone \ud800"]),
        ("x=1, y=22\n", r"(?<=y=)\d{2}", ["x=1, y=22"]),
    ],
)
def test_lines_are_what_a_reader_takes_for_lines(text: str, pattern: str, found: list[str]) -> None:
    assert [line.text for line in search(text, pattern)] == found


@given(st.text("ab\r\n", max_size=40), st.lists(st.integers(0, 40), max_size=4).map(tuple), st.integers(0, 45))
def test_where_the_pieces_are_cut_makes_no_difference(text: str, cuts: tuple[int, ...], start: int) -> None:
    whole = search(text, "a", start=start)
    assert search(text, "a", cuts=cuts, start=start) == whole
    for line in whole:
        assert text.startswith(line.text, line.offset)
        assert text[line.found_at] == "a"
        assert line.found_at >= start
    lines_with_a = {text.rfind("\n", 0, place) + 1 for place in range(start, len(text)) if text[place] == "a"}
    assert {line.offset for line in whole} == lines_with_a


def test_a_search_goes_on_inside_a_long_line() -> None:
    text = f"head\n{'x' * 50}needle{'x' * 50}needle\nneedle"
    first = search(text, "needle")[0]
    again = search(text, "needle", start=first.found_at + 1)
    assert [line.found_at for line in again] == [text.index("needle", first.found_at + 1), text.rindex("needle")]


def test_lines_are_handed_out_before_the_rest_is_read() -> None:
    def texts() -> Iterator[str]:
        yield "needle\nother"
        raise AssertionError("more was read than was needed")

    assert next(matching_lines(texts(), "needle", timeout_seconds=SECONDS)).text == "needle"


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "*",
        "[z-a]",
        r"\p{Nonsense}",
        "(?a)(?u)x",
        "(" * 400 + ")" * 400 + "(",
        "(" * 499 + "a" + ")" * 499,
        "x" * (LONGEST_PATTERN + 1),
        "(?x)a{1 0 0 0 0 0 0}",
        "a{99999999999999999999}",
        "(((a{1000}){1000}){1000}){1000}",
        "(?:ab|cd|ef|gh){250000}",
        "(" * 60 + "a" + "+)" * 60,
        "([[:alpha:])]a{1000}){1000}",
        r"((\)a{1000}){1000})",
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused_before_anything_is_read(pattern: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        matching_lines(iter(()), pattern, timeout_seconds=SECONDS)
    assert [problem["path"] for problem in caught.value.problems] == ["grep"]


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(\S+) (\S+) (\S+) \[([\w:/]+\s[+\-]\d{4})\] \"(\S+)\s?(\S+)?\s?(\S+)?\" (\d{3}|-) (\d+|-)$",
        r"\b(?:\d{1,3}\.){3}\d{1,3}\b",
        r"(?i)error|warn(ing)?|fatal",
        r".{0,1000}timeout.{0,1000}",
        "[[:upper:]]{3,}",
        r"\+\+\+\+\+\+\+\+\+\+\+\+\+\+\+\+\+\+\+\+\+\+",
    ],
)
def test_patterns_that_people_write_are_not_refused(pattern: str) -> None:
    assert search("", pattern) == []


@pytest.mark.parametrize(
    "pattern",
    [
        "(a|aa)+$",
        "(?:a+)+$",
        "(?:a*)*$",
        "(?:a{1,}){1,}$",
        "(?:a[a]*)*$",
        "(?:a|aa)" * 60 + "$",
        "a?" * 60 + "a" * 60 + "$",
        r"(?P<n>a(?&n)?(?&n)?)$",
    ],
)
@pytest.mark.parametrize("line", ["a" * 60 + "b", "a" * 5_000 + "b"])
def test_a_pattern_that_takes_for_ever_is_given_up(pattern: str, line: str) -> None:
    with pytest.raises(InvalidRequestError, match="too long"):
        list(matching_lines([f"{line}\n"] * 1_000, pattern, timeout_seconds=0.05))
