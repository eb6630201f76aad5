"""Anthropic's own SDK takes what comes back, also where results were replaced."""

from typing import Any

import pytest
from chat_histories import load_chat, recorded_chats
from format_checks import check_replacements, opened, text_results
from hypothesis import given
from hypothesis import strategies as st
from provider_histories import anthropic_histories, anthropic_of, said, tool_result
from pydantic import TypeAdapter, ValidationError
from sdk_validation import accepted

from reme_compact.history.formats.anthropic import AnthropicFormat

anthropic = pytest.importorskip("anthropic")

FORMAT = AnthropicFormat()


@pytest.fixture(scope="module")
def message_params() -> TypeAdapter[Any]:
    return TypeAdapter(list[anthropic.types.MessageParam])  # type: ignore[name-defined]


@given(source=anthropic_histories(), data=st.data())
def test_a_proposal_is_what_the_sdk_takes(
    message_params: TypeAdapter[Any], source: list[dict[str, Any]], data: st.DataObject
) -> None:
    assert accepted(message_params, source) == source
    places = text_results(opened(FORMAT, source))
    chosen = data.draw(st.lists(st.sampled_from(places), unique=True) if places else st.just([]))
    proposal = check_replacements(FORMAT, source, chosen)
    assert accepted(message_params, proposal) == proposal


@pytest.mark.parametrize("file", recorded_chats(), ids=lambda path: path.stem)
def test_a_real_history_with_all_results_replaced_is_what_the_sdk_takes(
    message_params: TypeAdapter[Any], file: Any
) -> None:
    source = anthropic_of(load_chat(file))
    proposal = check_replacements(FORMAT, source, text_results(opened(FORMAT, source)))
    assert accepted(message_params, proposal) == proposal


def test_the_sdk_would_tell(message_params: TypeAdapter[Any]) -> None:
    with pytest.raises(ValidationError):
        accepted(message_params, [said("user", tool_result("toolu_1", [{"type": "text", "text": 3}]))])
