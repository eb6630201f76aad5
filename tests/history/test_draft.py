"""A draft changes single outputs, shares everything else with its source, and never touches the source."""

import copy
from typing import Any

import pytest
from histories import call, histories, history, message, result, text
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.history.draft import Draft, snapshot


def _results(messages: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [
        (index, position)
        for index, item in enumerate(messages)
        for position, block in enumerate(item["content"])
        if block["type"] == "tool_result"
    ]


def test_only_the_output_of_one_block_changes() -> None:
    metadata = {"n": [1]}
    block = result("c1", "long", metadata=metadata)
    source = [message("user", text("go")), message("assistant", call("c1"), block, text("x"), message_id="m1")]
    before = copy.deepcopy(source)
    draft = Draft(source)
    changed = draft.replace_output((1, 1), "short")
    assert source == before
    assert changed is draft.messages[1]["content"][1]
    assert changed == {**block, "output": "short"}
    assert list(changed) == list(block)
    assert changed["metadata"] is metadata


def test_what_is_not_touched_is_the_source_itself() -> None:
    source = history(3)
    draft = Draft(source)
    draft.replace_output((2, 1), "short")
    assert draft.messages is not source
    assert [ours is theirs for ours, theirs in zip(draft.messages, source, strict=True)] == [
        True,
        True,
        False,
        True,
        True,
    ]
    assert draft.messages[2]["content"][0] is source[2]["content"][0]
    assert {**draft.messages[2], "content": None} == {**source[2], "content": None}
    assert list(draft.messages[2]) == list(source[2])


def test_a_list_output_becomes_text() -> None:
    draft = Draft([message("assistant", result("c1", [text("a"), text("b")]))])
    assert draft.replace_output((0, 0), "short")["output"] == "short"


def test_the_same_block_in_two_places_changes_in_one() -> None:
    shared = result("c1", "long")
    twice = message("assistant", shared, shared)
    source = [twice, twice]
    draft = Draft(source)
    draft.replace_output((1, 0), "short")
    outputs = [[block["output"] for block in item["content"]] for item in draft.messages]
    assert outputs == [["long", "long"], ["short", "long"]]
    assert shared["output"] == "long"


@given(histories(), st.data())
def test_replacing_and_restoring_in_any_order(messages: list[dict[str, Any]], data: st.DataObject) -> None:
    before = copy.deepcopy(messages)
    draft = Draft(messages)
    places = _results(messages)
    replaced: set[tuple[int, int]] = set()
    for place in data.draw(st.lists(st.sampled_from(places), max_size=12)) if places else []:
        if place in replaced:
            draft.restore(place)
            replaced.remove(place)
        else:
            draft.replace_output(place, "short")
            replaced.add(place)
    assert messages == before
    for index, item in enumerate(before):
        for position, block in enumerate(item["content"]):
            now = draft.messages[index]["content"][position]
            assert now == ({**block, "output": "short"} if (index, position) in replaced else block)
            if (index, position) not in replaced:
                assert now is messages[index]["content"][position]


def test_a_snapshot_does_not_grow_with_its_original() -> None:
    original = history(1)
    before = copy.deepcopy(original)
    kept = snapshot(original)
    original[1]["content"].append(text("later"))
    original.append(message("user", text("later")))
    assert kept == before
    assert kept[1]["content"][0] is original[1]["content"][0]


@pytest.mark.parametrize("wrong", [None, "text", {"role": "user"}, 1, [None, "x", {}, {"content": "x"}]])
def test_a_snapshot_leaves_what_is_no_history_to_validation(wrong: Any) -> None:
    assert snapshot(wrong) == wrong
