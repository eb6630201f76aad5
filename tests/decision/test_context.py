"""Task context: what is shown of the task, within which bounds, and what is left out first."""

from typing import Any

import orjson
import pytest
from histories import call, histories, long_text, message, request_for, result, text
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.context import TaskContext, build_task_context
from reme_compact.tokens.estimate import estimate_tokens


def _context(messages: list[dict[str, Any]], **fields: Any) -> TaskContext:
    context = build_task_context(CompactionRequest.parse(request_for(messages, **fields)))
    assert context is not None
    return context


def _state(messages: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    return _context(messages, **fields).state


def _texts(state: dict[str, Any]) -> list[str]:
    return [entry["text"] for entry in state["task_context"]]


def _shown_tokens(state: dict[str, Any]) -> int:
    """Estimate everything that comes from the history or the host."""
    return estimate_tokens(orjson.dumps({key: value for key, value in state.items() if key != "instructions"}))


def test_a_small_task_is_shown_whole() -> None:
    messages = [
        message("system", text("Be careful")),
        message("user", text("Fix it")),
        message("assistant", text("I look"), call("c1"), result("c1", "hidden")),
        message("user", text("Go on")),
    ]
    state = _state(messages, goal="Fix", next_action="Test", options={"preserve_recent_messages": 2})
    assert state["goal"] == "Fix"
    assert state["next_action"] == "Test"
    assert state["task_context"] == [
        {"role": "system", "text": "Be careful"},
        {"role": "assistant", "text": "I look"},
        {"role": "user", "text": "Go on"},
    ]
    assert state["task_context_complete"] is True
    assert "evidence_units" not in state


def test_only_text_blocks_are_shown() -> None:
    hidden: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hidden"},
        {"type": "hint", "hint": "hidden"},
        {"type": "data", "source": {"data": "hidden"}},
        call("c1", tool_input='{"hidden": 1}'),
        result("c1", "hidden"),
    ]
    state = _state([message("user", *hidden, text("one"), text("two")), message("assistant", *hidden)])
    assert state["task_context"] == [{"role": "user", "text": "one\ntwo"}]
    assert b"hidden" not in orjson.dumps(state)


def test_first_system_protected_and_recent_messages_are_shown_once_each_in_order() -> None:
    messages = [message("user", text(f"text {n}"), message_id=f"m{n}") for n in range(10)]
    messages[2]["role"] = "system"
    state = _state(messages, protected_message_ids=["m0", "m4", "m9"], options={"preserve_recent_messages": 2})
    assert _texts(state) == ["text 0", "text 2", "text 4", "text 8", "text 9"]


@pytest.mark.parametrize(("goal", "next_action"), [(None, None), (" \n", ""), ("", "\t")])
def test_without_a_goal_the_last_user_text_that_is_not_blank_serves(goal: str | None, next_action: str | None) -> None:
    messages = [
        message("user", text("first")),
        message("user", {"type": "thinking", "thinking": "no"}, text("this"), text("one")),
        message("assistant", text("not this")),
        message("user", text("  \n")),
        message("user", result("c1", "nor this")),
    ]
    state = _state(messages, goal=goal, next_action=next_action)
    assert state["goal"] == "this\none"
    assert "next_action" not in state


@pytest.mark.parametrize("role", ["assistant", "system"])
def test_with_no_goal_no_next_action_and_no_user_text_nothing_is_known(role: str) -> None:
    messages = [message(role, text("words")), message("user", text(" "), result("c1", "x"))]
    request = CompactionRequest.parse({**request_for(messages), "goal": " "})
    assert build_task_context(request) is None


def test_a_next_action_alone_is_enough() -> None:
    state = _state([message("assistant", text("words"))], goal=None, next_action="Deploy")
    assert state["next_action"] == "Deploy"
    assert "goal" not in state


@pytest.mark.parametrize("field", ["goal", "next_action"])
@pytest.mark.parametrize("evidence_chars", [50, 2000, 200_000])
def test_a_goal_of_130_000_characters_is_shortened_and_marked(field: str, evidence_chars: int) -> None:
    words = long_text("goal", 130_000)
    state = _state([message("user", text("Go"))], **{field: words}, options={"evidence_chars": evidence_chars})
    assert 0 < len(state[field]) <= evidence_chars
    assert state[field].startswith(words[:20])
    assert state[field].endswith(words[-20:])
    assert state["task_context_complete"] is False
    assert _texts(state) == ["Go"]


def test_60_system_messages_stay_within_half_of_the_state() -> None:
    messages = [message("system", text(f"rule {n}: " + long_text("rule", 5000))) for n in range(60)]
    context = _context([*messages, message("user", text("Go"))])
    assert context.state["task_context_complete"] is False
    assert 1 < len(context.state["task_context"]) < 60
    assert _shown_tokens(context.state) <= 12_500


def test_many_short_messages_stay_within_half_of_the_state_too() -> None:
    messages = [message("user", text("ok")) for _ in range(3000)]
    state = _state(messages, options={"preserve_recent_messages": 3000, "max_state_tokens": 10_000})
    assert state["task_context_complete"] is False
    assert _shown_tokens(state) <= 5_000


def test_the_oldest_recent_text_is_left_out_first() -> None:
    messages = [message("user", text(f"{n}: " + long_text("recent", 1500))) for n in range(40)]
    options = {"preserve_recent_messages": 30, "max_state_tokens": 8000}
    state = _state(messages, options=options)
    shown = [int(words.partition(":")[0]) for words in _texts(state)]
    assert shown == [0, *range(40 - len(shown) + 1, 40)]
    assert 1 < len(shown) < 31
    assert state["task_context_complete"] is False


def test_nothing_older_than_what_was_left_out_is_shown() -> None:
    messages = [message("user", text("first"))]
    messages += [message("user", text("short")), message("user", text(long_text("long", 9000)))]
    messages += [message("user", text("newest"))]
    options = {"preserve_recent_messages": 3, "max_state_tokens": 3000, "evidence_chars": 9000}
    assert _texts(_state(messages, options=options)) == ["first", "newest"]


def test_a_text_longer_than_evidence_chars_is_shortened_and_marked() -> None:
    words = long_text("rule", 500)
    state = _state([message("user", text(words)), message("user", text("Go"))], options={"evidence_chars": 100})
    assert len(_texts(state)[0]) == 100
    assert state["task_context_complete"] is False
    assert _state([message("user", text(words))], options={"evidence_chars": 500})["task_context_complete"] is True


def test_lone_surrogates_are_replaced_so_that_the_state_can_be_sent() -> None:
    messages = [message("user", text("a\ud800b")), message("user", text("Go"))]
    state = _state(messages, goal="g\udfff", next_action="\ud800")
    orjson.dumps(state)
    assert (state["goal"], state["next_action"], _texts(state)[0]) == ("g\ufffd", "\ufffd", "a\ufffdb")
    assert state["task_context_complete"] is True


@given(
    histories(),
    st.integers(2_000, 30_000),
    st.integers(1, 4_000),
    st.integers(0, 12),
    st.integers(0, 3_000).map(lambda count: "ä word 漢 " * count),
)
def test_bounds_hold_for_any_history(
    messages: list[dict[str, Any]], max_state_tokens: int, evidence_chars: int, recent: int, goal: str
) -> None:
    options = {
        "max_state_tokens": max_state_tokens,
        "evidence_chars": evidence_chars,
        "preserve_recent_messages": recent,
    }
    request = CompactionRequest.parse(request_for(messages, goal=goal, next_action=goal[::-1], options=options))
    context = build_task_context(request)
    if context is None:
        return
    state = context.state
    assert _shown_tokens(state) <= max_state_tokens // 2
    assert context.tokens >= estimate_tokens(orjson.dumps(state))
    assert all(len(words) <= evidence_chars for words in _texts(state))
    assert all(len(state.get(field, "")) <= evidence_chars for field in ("goal", "next_action"))
