"""Rules of place: a pair is kept if its call's or its result's message is meant; and what matches nothing is said."""

from typing import Any

import pytest
from histories import call, history, long_text, message, request_for, result, text

from reme_compact.contract.request import CompactionRequest
from reme_compact.history.pairs import pair_tool_blocks
from reme_compact.history.protection import Candidate, ProtectionRules, unmatched_names


def _outcomes(messages: list[dict[str, Any]], **fields: Any) -> dict[str, str]:
    request = CompactionRequest.parse(request_for(messages, **fields))
    calls = pair_tool_blocks(request.messages).calls
    rules = ProtectionRules(request, calls)
    found = {item.call_id: rules.check(item) for item in calls}
    return {name: "candidate" if isinstance(rule, Candidate) else rule for name, rule in found.items()}


def _kept(messages: list[dict[str, Any]], rule: str, **fields: Any) -> list[str]:
    return [name for name, found in _outcomes(messages, **fields).items() if found == rule]


def _apart(call_role: str = "assistant", result_role: str = "assistant") -> list[dict[str, Any]]:
    """Return a history whose call and result stand in different messages."""
    return [
        message("user", text("go")),
        message(call_role, call("c1"), message_id="asks"),
        message("user", text("wait")),
        message(result_role, result("c1", long_text("c1")), message_id="answers"),
        message("user", text("on")),
    ]


def test_a_call_in_the_first_message_is_kept_wherever_its_result_stands() -> None:
    assert _outcomes(_apart()[1:]) == {"c1": "first_message"}


@pytest.mark.parametrize(("call_role", "result_role"), [("system", "assistant"), ("assistant", "system")])
def test_a_system_message_on_either_side_keeps_the_pair(call_role: str, result_role: str) -> None:
    assert _outcomes(_apart(call_role, result_role)) == {"c1": "system_message"}


@pytest.mark.parametrize("message_id", ["asks", "answers"])
def test_a_protected_message_on_either_side_keeps_the_pair(message_id: str) -> None:
    assert _outcomes(_apart(), protected_message_ids=[message_id]) == {"c1": "protected_message"}


def test_a_protected_id_means_every_message_that_bears_it() -> None:
    messages = history(3)
    messages[1]["id"] = messages[2]["id"] = "same"
    assert _kept(messages, "protected_message", protected_message_ids=["same"]) == ["c0", "c1"]


@pytest.mark.parametrize("message_id", [None, 1, ["m1"]])
def test_a_message_whose_id_is_no_text_cannot_be_meant(message_id: Any) -> None:
    messages = history(1)
    messages[1]["id"] = message_id
    assert _outcomes(messages, protected_message_ids=["1", "None"]) == {"c0": "candidate"}


@pytest.mark.parametrize(("kept", "rule"), [(0, "candidate"), (1, "candidate"), (2, "recent"), (99, "recent")])
def test_recent_counts_messages_up_to_the_result(kept: int, rule: str) -> None:
    assert _outcomes(_apart(), options={"preserve_recent_messages": kept}) == {"c1": rule}


def test_six_messages_are_recent_by_default() -> None:
    request = {**request_for(history(8)), "options": {}}
    rules = _outcomes(request.pop("messages"), options={"preserve_recent_messages": 6})
    assert [name for name, rule in rules.items() if rule == "recent"] == ["c3", "c4", "c5", "c6", "c7"]


@pytest.mark.parametrize("kept", [0, 1, 3, 5, 6])
def test_recent_pairs_take_the_place_of_recent_messages(kept: int) -> None:
    options = {"preserve_recent_messages": 99, "preserve_recent_pairs": kept}
    recent = _kept(history(5), "recent", options=options)
    assert recent == [f"c{n}" for n in range(5)][max(0, 5 - kept) :]


def test_recent_pairs_are_found_inside_one_message_that_holds_a_whole_turn() -> None:
    blocks = [block for n in range(9) for block in (call(f"c{n}"), result(f"c{n}", long_text(str(n))))]
    messages = [message("user", text("go")), message("assistant", *blocks)]
    assert len(_kept(messages, "recent", options={"preserve_recent_messages": 1})) == 9
    options = {"preserve_recent_messages": 1, "preserve_recent_pairs": 2}
    assert _kept(messages, "recent", options=options) == ["c7", "c8"]


def test_only_pairs_count_as_recent_pairs() -> None:
    odd = message("assistant", call("open"), call("twice"), result("twice", "x"), result("twice", "y"))
    messages = [*history(3), odd]
    outcomes = _outcomes(messages, options={"preserve_recent_pairs": 1})
    assert outcomes == {
        "c0": "candidate",
        "c1": "candidate",
        "c2": "recent",
        "open": "result_missing",
        "twice": "ambiguous_id",
    }


def test_protected_calls_are_meant_by_their_id() -> None:
    assert _kept(history(3), "protected_call", protected_call_ids=["c1", "unknown"]) == ["c1"]


def test_what_matches_nothing_is_told_by_field_once_and_in_order() -> None:
    request = CompactionRequest.parse(
        request_for(
            history(2),
            protected_message_ids=["m0", "M0", "typo", "M0"],
            protected_call_ids=["c2", "c1"],
            eligible_tool_names=["Read_File", "read_file", ""],
        )
    )
    assert dict(unmatched_names(request, pair_tool_blocks(request.messages).calls)) == {
        "protected_message_ids": ["M0", "typo"],
        "protected_call_ids": ["c2"],
        "eligible_tool_names": ["Read_File", ""],
    }


def test_when_everything_matches_nothing_is_told() -> None:
    request = CompactionRequest.parse(
        request_for(history(1), protected_message_ids=["first"], protected_call_ids=["c0"])
    )
    assert list(unmatched_names(request, pair_tool_blocks(request.messages).calls)) == []
