"""Sizes are those of compact JSON, for whatever a history may hold."""

import json
from typing import Any

import pytest
from histories import histories, load_history, message, text, trajectory_files
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.history.sizes import compact_json, history_chars, serialized_chars

_SCALARS = st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=20)
_VALUES = st.recursive(
    _SCALARS | st.integers(-(10**40), 10**40),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=4)
    ),
    max_leaves=10,
)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(_VALUES)
def test_any_value(value: Any) -> None:
    assert compact_json(value) == _json(value)
    assert serialized_chars(value) == len(_json(value))


@pytest.mark.parametrize(
    "value",
    [
        "",
        "漢字 ä 👩‍👩‍👧",
        '\x00\x1f\x7f\x80\u2028"\\/\b\f\n\r\t',
        "\ud800",
        "\udfff\ud83d",
        {"\ud800": ["ä"]},
        [2**63, 2**64],
    ],
    ids=ascii,
)
def test_characters_and_integers_that_are_written_in_special_ways(value: Any) -> None:
    assert serialized_chars(value) == len(_json(value))
    assert serialized_chars([value, 10**4000]) == len(_json([value, 10**4000]))


@pytest.mark.parametrize("number", [0.5, -1.0, 3.14159, 1700000000.123456, 0.0001, 1e16, 1e22, 2.5e300])
def test_everyday_fractions(number: float) -> None:
    assert serialized_chars({"at": number}) == len(_json({"at": number}))


@given(histories())
def test_a_history(messages: list[dict[str, Any]]) -> None:
    assert history_chars(messages) == len(_json(messages))


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [message("user")],
        [message("user", {}), message("user", {}, {})],
        [message("user", text("\ud800 漢"), message_id="\udfff"), {"role": "user", "content": [], "n": 10**4000}],
    ],
    ids=["none", "empty", "blocks", "surrogates"],
)
def test_a_history_of_unusual_parts(messages: list[dict[str, Any]]) -> None:
    assert history_chars(messages) == len(_json(messages))


def test_recorded_histories() -> None:
    for path in trajectory_files():
        messages = load_history(path)
        assert history_chars(messages) == len(_json(messages)), path.name
