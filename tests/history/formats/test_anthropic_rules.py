"""What Anthropic's Messages API refuses, found in a history and named by its place."""

from typing import Any

import pytest
from provider_histories import said, thought, tool_result, tool_use

from reme_compact.history.formats.anthropic_rules import broken_rules

ASKED = said("user", "Fix the retries")
SAID = {"type": "text", "text": "Let me look"}
CALLED = said("assistant", SAID, tool_use("a"), tool_use("b"))


def broken(*messages: dict[str, Any]) -> list[tuple[str, str]]:
    return [(found.rule, found.path) for found in broken_rules(messages)]


@pytest.mark.parametrize(
    "messages",
    [
        [ASKED],
        [ASKED, CALLED, said("user", tool_result("b"), tool_result("a"), SAID), said("assistant", "Done")],
        # Consecutive messages of one role are one turn.
        [
            ASKED,
            ASKED,
            said("assistant", "Let me look"),
            said("assistant", tool_use("a")),
            said("user", tool_result("a")),
        ],
        [ASKED, CALLED, said("user", tool_result("a")), said("user", tool_result("b")), said("user", "Go on")],
        [ASKED, said("assistant", thought(), SAID, tool_use("a")), said("user", tool_result("a"))],
        [
            ASKED,
            said("assistant", {"type": "redacted_thinking", "data": "AA"}, tool_use("a")),
            said("user", tool_result("a")),
        ],
        [ASKED, said("assistant", thought(), {"type": "server_tool_use", "id": "s"}, thought(), SAID)],
        [ASKED, said("assistant", SAID, thought())],
        [said("system", "Be brief"), ASKED],
    ],
)
def test_what_the_api_accepts_breaks_nothing(messages: list[dict[str, Any]]) -> None:
    assert broken(*messages) == []


def test_every_call_is_answered_in_the_next_message() -> None:
    assert broken(ASKED, CALLED) == [
        ("every_call_answered", "[1].content[1]"),
        ("every_call_answered", "[1].content[2]"),
    ]
    assert broken(ASKED, CALLED, said("user", tool_result("a"))) == [("every_call_answered", "[1].content[2]")]
    assert broken(ASKED, CALLED, said("user", "Wait")) == broken(ASKED, CALLED)
    assert broken(ASKED, said("assistant", tool_use("a")), said("system", tool_result("a"))) == [
        ("every_call_answered", "[1].content[0]"),
        ("user_answers", "[2].content[0]"),
    ]


def test_a_result_comes_right_after_its_call() -> None:
    late = [ASKED, said("assistant", tool_use("a")), ASKED, said("assistant", "Hm"), said("user", tool_result("a"))]
    assert broken(*late) == [
        ("every_call_answered", "[1].content[0]"),
        ("result_after_call", "[4].content[0].tool_use_id"),
    ]
    assert broken(said("user", tool_result("a"))) == [("result_after_call", "[0].content[0].tool_use_id")]


def test_a_call_is_answered_once() -> None:
    twice = said("user", tool_result("a"), tool_result("b"), tool_result("a"))
    assert broken(ASKED, CALLED, twice) == [("call_answered_once", "[2].content[2]")]
    apart = [said("user", tool_result("a"), tool_result("b")), said("user", tool_result("b"))]
    assert broken(ASKED, CALLED, *apart) == [("call_answered_once", "[3].content[0]")]


def test_results_stand_before_everything_else() -> None:
    assert broken(ASKED, CALLED, said("user", tool_result("a"), SAID, tool_result("b"))) == [
        ("results_first", "[2].content[2]")
    ]
    assert broken(ASKED, CALLED, said("user", "Look:"), said("user", tool_result("a"), tool_result("b"))) == [
        ("results_first", "[3].content[0]"),
        ("results_first", "[3].content[1]"),
    ]


def test_ids_are_unique_in_the_whole_history() -> None:
    pair = [said("assistant", tool_use("a")), said("user", tool_result("a"))]
    assert broken(ASKED, *pair, *pair) == [("unique_call_ids", "[3].content[0].id")]
    assert broken(ASKED, said("assistant", tool_use("a"), tool_use("a")), said("user", tool_result("a"))) == [
        ("unique_call_ids", "[1].content[1].id")
    ]


def test_the_assistant_calls_and_the_user_answers() -> None:
    assert broken(said("user", tool_use("a")), said("assistant", tool_result("a"))) == [
        ("assistant_calls", "[0].content[0]"),
        ("user_answers", "[1].content[0]"),
    ]


def test_a_turn_that_thinks_and_calls_begins_with_thinking() -> None:
    late = said("assistant", SAID, thought(), tool_use("a"))
    assert broken(ASKED, late, said("user", tool_result("a"))) == [("thinking_first", "[1].content[1]")]


def test_thinking_carries_its_signature() -> None:
    bare = {"type": "thinking", "thinking": "Where?"}
    assert broken(ASKED, said("assistant", bare, {"type": "redacted_thinking"})) == [
        ("thinking_signed", "[1].content[0].signature"),
        ("thinking_signed", "[1].content[1].data"),
    ]
