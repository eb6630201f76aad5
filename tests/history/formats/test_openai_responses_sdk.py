"""OpenAI's own SDK takes what comes back, also where outputs were replaced."""

from typing import Any

import pytest
from chat_histories import load_chat, recorded_chats
from format_checks import check_replacements, opened, text_results
from hypothesis import given
from hypothesis import strategies as st
from provider_histories import function_output, responses_histories, responses_of
from pydantic import TypeAdapter, ValidationError
from sdk_validation import accepted

from reme_compact.history.formats.openai_responses import OpenAIResponsesFormat

responses = pytest.importorskip("openai.types.responses")

FORMAT = OpenAIResponsesFormat()


@pytest.fixture(scope="module")
def input_items() -> TypeAdapter[Any]:
    return TypeAdapter(list[responses.ResponseInputItemParam])  # type: ignore[name-defined]


@given(source=responses_histories(), data=st.data())
def test_a_proposal_is_what_the_sdk_takes(
    input_items: TypeAdapter[Any], source: list[dict[str, Any]], data: st.DataObject
) -> None:
    assert accepted(input_items, source) == source
    places = text_results(opened(FORMAT, source))
    chosen = data.draw(st.lists(st.sampled_from(places), unique=True) if places else st.just([]))
    proposal = check_replacements(FORMAT, source, chosen)
    assert accepted(input_items, proposal) == proposal


@pytest.mark.parametrize("file", recorded_chats(), ids=lambda path: path.stem)
def test_a_real_history_with_all_outputs_replaced_is_what_the_sdk_takes(
    input_items: TypeAdapter[Any], file: Any
) -> None:
    source = responses_of(load_chat(file))
    proposal = check_replacements(FORMAT, source, text_results(opened(FORMAT, source)))
    assert accepted(input_items, proposal) == proposal


def test_the_sdk_would_tell(input_items: TypeAdapter[Any]) -> None:
    with pytest.raises(ValidationError):
        accepted(input_items, [function_output("call_1", [{"type": "input_text", "text": 3}])])
