"""Every call with an id is found, paired with the one result that answers it, or told why not."""

from collections import Counter
from typing import Any

import pytest
from histories import call, histories, message, result, text
from hypothesis import given

from reme_compact.history.pairs import Pairing, ToolCall, pair_tool_blocks


def _pair(*blocks: dict[str, Any]) -> Pairing:
    """Pair blocks that stand in one message."""
    return pair_tool_blocks([message("user", text("go")), message("assistant", *blocks)])


def _rules(pairing: Pairing) -> list[str | None]:
    return [found.pairing_rule for found in pairing.calls]


def test_a_call_and_its_result_in_one_message() -> None:
    blocks = [call("c1"), result("c1", "x")]
    (found,) = _pair(*blocks).calls
    assert found == ToolCall("t1", "c1", (1, 0), blocks[0], (1, 1), blocks[1])
    assert found.call is blocks[0]
    assert found.result is blocks[1]


def test_a_result_far_from_its_call() -> None:
    messages = [
        message("assistant", text("a"), call("c1"), call("c2")),
        message("user", text("wait")),
        message("assistant", result("c2", "two"), text("b")),
        message("user", result("c1", "one")),
    ]
    pairing = pair_tool_blocks(messages)
    assert [(found.call_id, found.call_at, found.result_at) for found in pairing.calls] == [
        ("c1", (0, 1), (3, 0)),
        ("c2", (0, 2), (2, 0)),
    ]
    assert _rules(pairing) == [None, None]


def test_a_whole_turn_in_one_message_is_numbered_in_order_of_appearance() -> None:
    blocks = [block for n in range(300) for block in (call(f"c{n}"), result(f"c{n}", str(n)))]
    pairing = _pair(*blocks)
    assert [found.id for found in pairing.calls] == [f"t{n}" for n in range(1, 301)]
    assert [found.call_id for found in pairing.calls] == [f"c{n}" for n in range(300)]
    assert all(found.result_at == (1, found.call_at[1] + 1) for found in pairing.calls)


@pytest.mark.parametrize(
    ("blocks", "rules"),
    [
        ([call("c1")], ["result_missing"]),
        ([call("c1"), call("c1")], ["result_missing"] * 2),
        ([result("c1", "x"), call("c1")], ["result_missing"]),
        ([call("c1"), call("c1"), result("c1", "x")], ["ambiguous_id"] * 2),
        ([call("c1"), result("c1", "x"), call("c1"), result("c1", "y")], ["ambiguous_id"] * 2),
        ([call("c1"), result("c1", "x"), result("c1", "x")], ["ambiguous_id"]),
        ([result("c1", "x"), call("c1"), result("c1", "y")], ["ambiguous_id"]),
        ([call("c1"), result("c2", "x"), call("c2")], ["result_missing"] * 2),
        ([call("c1"), result("C1", "x")], ["result_missing"]),
        ([call("c1"), result(" c1", "x")], ["result_missing"]),
        ([call("c1"), call("c1"), call("c2"), result("c1", "x"), result("c2", "y")], ["ambiguous_id"] * 2 + [None]),
    ],
)
def test_a_call_that_cannot_be_paired_knows_why(blocks: list[dict[str, Any]], rules: list[str | None]) -> None:
    pairing = _pair(*blocks)
    assert _rules(pairing) == rules
    for found in pairing.calls:
        assert (found.result is None) == (found.result_at is None) == (found.pairing_rule is not None)


def test_a_result_before_its_call_in_another_message() -> None:
    messages = [message("user", result("c1", "x")), message("assistant", call("c1"))]
    assert _rules(pair_tool_blocks(messages)) == ["result_missing"]


@pytest.mark.parametrize("wrong_id", [None, "", 1, 1.5, True, ["c1"], {"id": "c1"}])
def test_blocks_whose_id_is_no_text_are_counted_and_left_alone(wrong_id: Any) -> None:
    pairing = _pair(call("c1"), {**call("x"), "id": wrong_id}, {**result("x", "y"), "id": wrong_id}, result("c1", "z"))
    assert pairing.blocks_without_id == 2
    assert [found.call_id for found in pairing.calls] == ["c1"]
    assert _rules(pairing) == [None]


def test_blocks_without_an_id_take_no_number() -> None:
    pairing = _pair({"type": "tool_call", "name": "x"}, call("c1"), result("c1", "x"))
    assert [found.id for found in pairing.calls] == ["t1"]


def test_results_without_a_call_are_named_once_each_in_order() -> None:
    pairing = _pair(result("b", "x"), call("c1"), result("a", "x"), result("b", "y"), result("c1", "z"))
    assert pairing.results_without_call == ["b", "a"]


def test_any_text_is_an_id() -> None:
    odd = [" ", "\ud800", "a\nb", "漢", "t1"]
    pairing = _pair(*(block for name in odd for block in (call(name), result(name, "x"))))
    assert [found.call_id for found in pairing.calls] == odd
    assert _rules(pairing) == [None] * len(odd)


@pytest.mark.parametrize("kind", [None, "", "tool_use", "Tool_Call", 7, ["tool_call"], {"type": "tool_call"}])
def test_blocks_of_another_kind_are_passed_over_and_their_kind_is_named_once(kind: Any) -> None:
    pairing = _pair({"type": kind, "id": "x"}, {"type": kind, "id": "y"})
    assert (pairing.calls, pairing.results_without_call, pairing.blocks_without_id) == ([], [], 0)
    assert pairing.unknown_types == [str(kind)]


def test_every_kind_of_agentscope_is_known() -> None:
    kinds = ("text", "thinking", "hint", "data")
    assert _pair(call("c1"), result("c1", "x"), *({"type": kind} for kind in kinds)).unknown_types == []


@given(histories())
def test_every_call_with_an_id_is_there_exactly_once(messages: list[dict[str, Any]]) -> None:
    pairing = pair_tool_blocks(messages)
    places = [
        (index, position)
        for index, item in enumerate(messages)
        for position, block in enumerate(item["content"])
        if block["type"] == "tool_call"
    ]
    assert [found.call_at for found in pairing.calls] == places
    assert [found.id for found in pairing.calls] == [f"t{n}" for n in range(1, len(places) + 1)]
    calls = Counter(found.call_id for found in pairing.calls)
    for found in pairing.calls:
        assert found.call is messages[found.call_at[0]]["content"][found.call_at[1]]
        if found.result_at is not None:
            assert found.result is messages[found.result_at[0]]["content"][found.result_at[1]]
            assert found.result_at > found.call_at
            assert calls[found.call_id] == 1
