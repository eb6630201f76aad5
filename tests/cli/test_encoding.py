import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.cli.encoding import to_json

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=10,
)


@given(json_values)
def test_values_survive_on_one_line(value: Any) -> None:
    text = to_json(value)
    assert json.loads(text) == value
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize("character", ["\ud800", "\x1b", "\x9b", "\x7f", "\u2028", "\x85"])
def test_what_utf8_or_a_terminal_cannot_take_is_escaped(character: str) -> None:
    text = to_json({"a": f"é{character}"})
    assert text == f'{{"a":"é\\u{ord(character):04x}"}}'
    assert json.loads(text.encode()) == {"a": f"é{character}"}
