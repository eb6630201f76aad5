"""Whatever stands in a message, a format reads it or says where it is wrong; it never fails in another way."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reme_compact.contract.errors import InvalidRequestError
from reme_compact.contract.formats import FormatName
from reme_compact.history.formats.opening import detect_format
from reme_compact.history.formats.protocol import HistoryFormatError
from reme_compact.history.formats.registry import FORMATS
from reme_compact.history.pairs import pair_tool_blocks

KEYS = [
    *("role", "content", "type", "id", "name", "text", "input", "output", "state", "data", "kwargs", "lc", "status"),
    *("tool_calls", "tool_call_id", "function", "arguments", "call_id", "tool_use_id", "is_error", "args", "custom"),
    *("function_call", "refusal", "summary", "additional_kwargs", "invalid_tool_calls", "thinking", "signature"),
]
WORDS = [
    *("user", "assistant", "system", "tool", "developer", "function", "robot", "ai", "human", "constructor"),
    *("text", "tool_call", "tool_result", "tool_use", "thinking", "function_call", "function_call_output", "message"),
    *("reasoning", "custom", "custom_tool_call", "input_text", "output_text", "image", "c1", "c2", "AIMessage", "{}"),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=25,
)
MESSAGES = st.lists(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6), min_size=1, max_size=4)


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=100)
@given(MESSAGES)
def test_a_format_reads_it_or_says_where_it_is_wrong(name: FormatName, messages: list[dict[str, Any]]) -> None:
    known = FORMATS[name]
    before = copy.deepcopy(messages)
    known.fits(messages)
    wrong_at, view = "[", []
    try:
        view = known.read(messages)
    except HistoryFormatError as error:
        wrong_at = error.path
    assert wrong_at.startswith("[")
    if view:
        assert len(view) == len(messages)
        calls = pair_tool_blocks(view).calls
        for violation in known.violations(messages):
            assert violation.path.startswith("[")
        for call in calls:
            if call.result_at is not None:
                changed = known.with_output(messages[call.result_at[0]], call.result_at[1], "short")
                assert changed is not messages[call.result_at[0]]
    assert messages == before


@given(MESSAGES)
def test_the_format_is_told_or_the_choice_is_named(messages: list[dict[str, Any]]) -> None:
    path = "format"
    try:
        assert detect_format(messages) in FORMATS
    except InvalidRequestError as error:
        path = error.problems[0]["path"]
    assert path == "format"
