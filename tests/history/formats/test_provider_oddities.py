"""Whatever JSON comes as a history: it is read into a sound view, or refused by its place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.contract.messages import check_messages
from reme_compact.history.formats.anthropic import AnthropicFormat
from reme_compact.history.formats.openai_responses import OpenAIResponsesFormat
from reme_compact.history.formats.protocol import HistoryFormat, HistoryFormatError
from reme_compact.history.pairs import pair_tool_blocks

_WORDS = st.sampled_from(["a", "", "user", "assistant", "text", "direct", "completed", "incomplete"])
_TYPES = st.sampled_from(
    [
        *(
            "text",
            "thinking",
            "redacted_thinking",
            "tool_use",
            "tool_result",
            "server_tool_use",
            "message",
            "reasoning",
        ),
        *("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"),
        *("input_text", "refusal"),
    ]
)
_ROLES = st.sampled_from(["user", "assistant", "system", "developer"])
_KEYS = ["id", "call_id", "tool_use_id", "name", "input", "arguments", "output", "content", "caller", "is_error"]
_KEYS += ["status", "signature", "data", "text", "summary", "refusal", "thinking"]


def _objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    odd: st.SearchStrategy[Any] = st.one_of(st.none(), st.integers(0, 1), st.just([]), st.just({}))
    optional = {**dict.fromkeys(_KEYS, values), "role": st.one_of(_ROLES, odd), "type": st.one_of(_TYPES, _TYPES, odd)}
    return st.fixed_dictionaries({}, optional=optional)


_ODD = st.recursive(
    st.one_of(_WORDS, st.none(), st.booleans(), st.integers(0, 3)),
    lambda values: st.one_of(st.lists(values, max_size=3), _objects(values)),
    max_leaves=6,
)
_BLOCKS = st.builds(lambda block, kind: {**block, "type": kind}, _objects(_ODD), _TYPES)
_MESSAGES = st.one_of(
    st.fixed_dictionaries({"role": _ROLES, "content": st.one_of(_WORDS, st.lists(_BLOCKS, max_size=4))}),
    _BLOCKS,
    _objects(_ODD),
)


@pytest.mark.parametrize("known", [AnthropicFormat(), OpenAIResponsesFormat()], ids=lambda known: known.name)
@given(messages=st.lists(_MESSAGES, min_size=1, max_size=5))
def test_it_is_read_or_refused_by_its_place(known: HistoryFormat, messages: list[dict[str, Any]]) -> None:
    assert known.fits(messages) in {True, False}
    view, refused_at = _read(known, messages)
    if view is None:
        assert refused_at.startswith("[")
        return
    assert len(check_messages(view)) == len(messages)
    assert pair_tool_blocks(view).unknown_types == []
    for found in known.violations(messages):
        assert found.path.startswith("[")


def _read(known: HistoryFormat, messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]] | None, str]:
    try:
        return known.read(messages), ""
    except HistoryFormatError as error:
        return None, error.path
