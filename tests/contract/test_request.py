"""A request is refused by name of what is wrong with it, before anything is asked."""

from typing import Any

import pytest
from pydantic import ValidationError

from reme_compact.contract.errors import InvalidRequestError
from reme_compact.contract.request import CompactionRequest

MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "private words"}]}]


def _parse(**fields: Any) -> CompactionRequest:
    return CompactionRequest.parse({"messages": MESSAGES, **fields})


def _problems(**fields: Any) -> dict[str, str]:
    with pytest.raises(InvalidRequestError) as caught:
        _parse(**fields)
    assert "private" not in caught.value.message
    return {problem["path"]: problem["message"] for problem in caught.value.problems}


def test_messages_alone_are_a_request_in_which_nothing_is_eligible() -> None:
    request = _parse()
    assert request.messages is MESSAGES
    assert request.goal is request.next_action is request.token_counter is None
    assert request.source_refs == {}
    assert request.protected_message_ids == request.protected_call_ids == request.eligible_tool_names == []


def test_messages_are_required() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        CompactionRequest.parse({"goal": "x"})
    assert caught.value.problems == [{"path": "messages", "message": "is required"}]


@pytest.mark.parametrize("field", ["goal", "next_action", "token_counter"])
@pytest.mark.parametrize("blank", ["", " ", "\n\t\u3000", None])
def test_blank_text_is_absent(field: str, blank: str | None) -> None:
    assert getattr(_parse(**{field: blank}), field) is None


def test_text_that_is_not_blank_stays_as_it_is() -> None:
    assert _parse(goal=" keep \n").goal == " keep \n"


@pytest.mark.parametrize(
    ("fields", "path", "suggestion"),
    [
        ({"mesages": []}, "mesages", "messages"),
        ({"goals": "x"}, "goals", "goal"),
        ({"nextAction": "x"}, "nextAction", "next_action"),
        ({"source_ref": {}}, "source_ref", "source_refs"),
        ({"eligible_tools": []}, "eligible_tools", "eligible_tool_names"),
        ({"protected_calls_ids": []}, "protected_calls_ids", "protected_call_ids"),
        ({"option": {}}, "option", "options"),
        ({"options": {"drop_treshold": 0.2}}, "options.drop_treshold", "drop_threshold"),
        ({"options": {"previewChars": 2}}, "options.previewChars", "preview_chars"),
        ({"options": {"max_ouput_tokens": 2}}, "options.max_ouput_tokens", "max_output_tokens"),
        ({"options": {"preserve_recent_message": 2}}, "options.preserve_recent_message", "preserve_recent_messages"),
    ],
)
def test_an_unknown_key_is_named_with_the_closest_known_one(fields: dict[str, Any], path: str, suggestion: str) -> None:
    assert _problems(**fields) == {path: f"unknown key; did you mean '{suggestion}'?"}


@pytest.mark.parametrize("fields", [{"zzzz": 1}, {"options": {"zzzz": 1}}])
def test_an_unknown_key_that_resembles_none_is_told_all(fields: dict[str, Any]) -> None:
    (message,) = _problems(**fields).values()
    known = "drop_threshold" if "options" in fields else "eligible_tool_names"
    assert message.startswith("unknown key; known keys are ")
    assert known in message


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"messages": []}, "messages"),
        ({"format": "agentscope", "messages": [{"role": "tool", "content": []}]}, "messages[0].role"),
        ({"format": "agentscope", "messages": [*MESSAGES, {"role": "user", "content": "x"}]}, "messages[1].content"),
        ({"messages": [{"role": "user", "content": [{"n": float("nan")}]}]}, "messages[0].content[0].n"),
        ({"goal": 5}, "goal"),
        ({"next_action": ["x"]}, "next_action"),
        ({"source_refs": []}, "source_refs"),
        ({"source_refs": {"c1": 1}}, "source_refs.c1"),
        ({"source_refs": {"c1": None}}, "source_refs.c1"),
        ({"protected_message_ids": "m1"}, "protected_message_ids"),
        ({"protected_call_ids": [1]}, "protected_call_ids[0]"),
        ({"eligible_tool_names": ["a", None]}, "eligible_tool_names[1]"),
        ({"options": []}, "options"),
        ({"options": None}, "options"),
        ({"token_counter": 1}, "token_counter"),
    ],
)
def test_a_wrong_value_is_named_by_its_path(fields: dict[str, Any], path: str) -> None:
    assert list(_problems(**fields)) == [path]


def test_all_problems_are_named_at_once() -> None:
    assert set(_problems(goal=1, gaol=2, options={"preview_chars": -1, "previews": 2})) == {
        "goal",
        "gaol",
        "options.preview_chars",
        "options.previews",
    }


def test_lone_surrogates_in_ids_and_references_pass() -> None:
    request = _parse(source_refs={"c\ud800": "r\udfff"}, protected_call_ids=["\ud800"], goal="\ud800 goal")
    assert request.source_refs == {"c\ud800": "r\udfff"}


@pytest.mark.parametrize("key", ["goal\ud800", 1, None])
def test_a_key_that_is_no_proper_text_is_a_typed_refusal(key: Any) -> None:
    with pytest.raises(InvalidRequestError):
        CompactionRequest.parse({"messages": MESSAGES, key: "x"})


def test_a_request_cannot_change() -> None:
    with pytest.raises(ValidationError):
        _parse().goal = "another"  # type: ignore[misc]


def test_the_published_example_is_valid() -> None:
    assert CompactionRequest.parse(CompactionRequest.example).goal
