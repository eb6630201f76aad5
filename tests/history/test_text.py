"""Which text is in a message or a result, and what to do with text that is not proper Unicode."""

from typing import Any

import pytest
from histories import call, message, result, text
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.history.text import has_lone_surrogate, message_text, result_text, without_lone_surrogates


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("", ""),
        ("plain\n", "plain\n"),
        ([], ""),
        ([text("a")], "a"),
        ([text("a"), text(""), text("b")], "a\n\nb"),
        ([{"type": "text", "text": "a", "id": "x"}], "a"),
        (None, None),
        (5, None),
        ({"type": "text", "text": "a"}, None),
        ([text("a"), "b"], None),
        ([text("a"), None], None),
        ([text("a"), {"type": "data", "source": {}}], None),
        ([{"type": "thinking", "text": "a"}], None),
        ([{"type": "text"}], None),
        ([{"type": "text", "text": None}], None),
        ([{"text": "a"}], None),
    ],
)
def test_a_result_is_text_only_if_all_of_it_is(output: Any, expected: str | None) -> None:
    assert result_text(result("c1", output)) == expected


def test_a_long_text_is_not_copied() -> None:
    output = "x" * 10_000
    assert result_text(result("c1", output)) is output


def test_only_text_blocks_are_the_text_of_a_message() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hidden", "text": "hidden"},
        text("one"),
        {"type": "hint", "hint": "hidden", "text": "hidden"},
        call("c1"),
        result("c1", "hidden"),
        {"type": "data", "source": {"data": "hidden"}},
        text("two"),
        {"type": "text", "text": 3},
        {"type": "text"},
        {},
    ]
    assert message_text(message("assistant", *blocks)) == "one\ntwo"


@pytest.mark.parametrize("words", ["\ud800", "a\udfffb", "漢\ud83d", "\ude00\ud83d"])
def test_lone_surrogates_are_found_and_replaced_one_by_one(words: str) -> None:
    assert has_lone_surrogate(words)
    assert without_lone_surrogates(words) == "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in words)


@given(st.text())
def test_proper_text_is_left_alone(words: str) -> None:
    assert not has_lone_surrogate(words)
    assert without_lone_surrogates(words) is words


@given(st.text(st.characters()))
def test_what_is_replaced_can_be_written(words: str) -> None:
    assert not has_lone_surrogate(without_lone_surrogates(words))
