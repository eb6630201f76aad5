"""What OpenAI's Responses API refuses, found in an item list and named by its place."""

from typing import Any

import pytest
from provider_histories import function_call, function_output, reasoning

from reme_compact.history.formats.openai_responses_rules import broken_rules

ASKED = {"role": "user", "content": "Fix the retries"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done"}]}
CUSTOM = {"type": "custom_tool_call", "call_id": "a", "name": "apply_patch", "input": "x"}
CUSTOM_OUTPUT = {"type": "custom_tool_call_output", "call_id": "a", "output": "x"}
SEARCHED = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


def broken(*items: dict[str, Any]) -> list[tuple[str, str]]:
    return [(found.rule, found.path) for found in broken_rules(items)]


@pytest.mark.parametrize(
    "items",
    [
        [ASKED],
        [ASKED, function_call("a"), function_call("b"), function_output("b"), function_output("a"), SAID],
        # An output may come later: the call before it may be asynchronous.
        [ASKED, function_call("a"), SAID, ASKED, function_output("a")],
        [ASKED, reasoning(), function_call("a"), function_output("a"), reasoning("rs_2"), SAID],
        [ASKED, reasoning(), SEARCHED, reasoning("rs_2"), {"role": "assistant", "content": "Done"}],
        # A call of one kind and one of another may have the same id.
        [function_call("a"), CUSTOM, CUSTOM_OUTPUT, function_output("a")],
        [{"type": "item_reference", "id": "fc_1"}, function_output("a")],
        [{"id": "fc_1"}, function_output("a")],
    ],
)
def test_what_the_api_accepts_breaks_nothing(items: list[dict[str, Any]]) -> None:
    assert broken(*items) == []


@pytest.mark.parametrize(
    "call",
    [
        function_call("a"),
        CUSTOM,
        {"type": "computer_call", "call_id": "a"},
        {"type": "shell_call", "call_id": "a"},
        {"type": "apply_patch_call", "call_id": "a"},
    ],
)
def test_every_call_is_answered_after_it(call: dict[str, Any]) -> None:
    output = {"type": f"{call['type']}_output", "call_id": "a", "output": "x"}
    assert broken(call, output) == []
    assert broken(ASKED, call) == [("every_call_answered", "[1]")]
    assert broken(output, call) == [("result_after_call", "[0].call_id"), ("every_call_answered", "[1]")]


def test_an_output_is_of_the_kind_of_its_call() -> None:
    assert broken(function_call("a"), CUSTOM_OUTPUT) == [
        ("every_call_answered", "[0]"),
        ("result_after_call", "[1].call_id"),
    ]


def test_a_call_is_answered_once() -> None:
    assert broken(function_call("a"), function_output("a"), function_output("a")) == [("call_answered_once", "[2]")]


def test_ids_are_unique() -> None:
    pair = [function_call("a"), function_output("a")]
    assert broken(*pair, *pair) == [("unique_call_ids", "[2].call_id"), ("call_answered_once", "[3]")]


@pytest.mark.parametrize(
    "after",
    [
        [],
        [ASKED],
        [function_output("a")],
        [{"type": "mcp_approval_response", "approve": True}],
        [{"role": "developer"}],
    ],
)
def test_reasoning_is_followed_by_what_the_model_made_after_it(after: list[dict[str, Any]]) -> None:
    call = [function_call("a")] if after == [function_output("a")] else []
    assert broken(*call, reasoning(), *after) == [("reasoning_followed", f"[{len(call)}]")]
