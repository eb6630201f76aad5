"""Which texts differ between a message and a changed copy, and that nothing else may."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.history.formats.changed_texts import changed_texts

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3)
    ),
)


def part(words: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **fields}


@given(VALUES)
def test_a_copy_differs_in_nothing(value: Any) -> None:
    assert changed_texts(value, copy.deepcopy(value)) == []


@given(VALUES, VALUES)
def test_what_differs_is_never_overlooked(before: Any, now: Any) -> None:
    """Python takes true for 1, JSON does not."""
    assert (changed_texts({"of": before}, {"of": now}) == []) == (repr(before) == repr(now) or _same(before, now))


def _same(before: Any, now: Any) -> bool:
    if isinstance(before, dict) and isinstance(now, dict):
        return before.keys() == now.keys() and all(_same(before[key], now[key]) for key in before)
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(map(_same, before, now))
    return type(before) is type(now) and bool(before == now)


@pytest.mark.parametrize(
    ("before", "now", "texts"),
    [
        ("old", "new", ("old", "new")),
        (["old"], ["new"], ("old", "new")),
        (["one", "two"], ["new"], ("one\ntwo", "new")),
        ([part("one"), part("two")], "new", ("one\ntwo", "new")),
        ([part("old", kept=1)], [part("new", kept=1)], ("old", "new")),
        ([part("one"), part("two", kept=1)], [part("new", kept=1)], ("one\ntwo", "new")),
        (["one", part("two")], [part("new")], ("one\ntwo", "new")),
        ([], [part("new")], ("", "new")),
        ([], "new", ("", "new")),
    ],
)
def test_a_text_for_a_text_whatever_holds_it(before: Any, now: Any, texts: tuple[str, str]) -> None:
    kept = {"n": [1]}
    source, changed = {"content": before, "kept": kept}, {"content": now, "kept": kept}
    assert changed_texts(source, changed) == [texts]
    assert changed_texts([source, {"kept": 1}], [changed, {"kept": 1}]) == [texts]


def test_a_text_where_there_was_none() -> None:
    assert changed_texts({"id": "c1"}, {"id": "c1", "content": "new"}) == [("", "new")]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("old", None),
        ("old", 7),
        ("old", [part("new")]),
        (None, "new"),
        (1, True),
        ([part("one"), part("two")], [part("new", added=1)]),
        ([part("one"), part("two", kept=1)], [part("new", kept=2)]),
        ([part("one"), part("two")], [part("new"), part("newer"), part("newest")]),
        ([part("one"), {"type": "image"}], [part("new")]),
        ([part("one"), {"type": "image"}], "new"),
        ([part("one")], []),
        ({"text": "old"}, {}),
        ({"text": "old"}, {"words": "old"}),
    ],
)
def test_anything_else_is_no_change_of_texts(before: Any, now: Any) -> None:
    assert changed_texts({"content": before}, {"content": now}) is None
