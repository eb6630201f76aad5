"""Compacting a growing history again and again: what was previewed stays, and nobody is asked about it again."""

import copy
import json
from typing import Any

import pytest
from archiving import SESSION, check_recoverable, claimed, compact_with, memory_archive
from chat_histories import ChatMessage
from histories import Message, histories, history, long_text, message, request_for, result, text
from histories import call as made_call
from hypothesis import given, settings
from models import ScriptedModel, always, by_hash
from written_formats import WRITINGS, chat_of, request_of, results_in, rounds

from reme_compact import BinaryAnswer, CompactContextStep
from reme_compact.history.preview import is_preview

pytestmark = pytest.mark.anyio
EVERY_WRITING = pytest.mark.parametrize("writing", WRITINGS)

TURNS: list[list[ChatMessage]] = [
    chat_of(4),
    [*rounds(4, 4), {"role": "user", "content": "And the timeouts?"}],
    [*rounds(8, 4), {"role": "user", "content": "Write it down"}],
]


def even_ones() -> ScriptedModel:
    """Need the results of every second call."""
    return ScriptedModel(lambda unit: BinaryAnswer(0.9 if int(unit["result"].split(":")[0][1:].rstrip("b")) % 2 else 0))


async def compact(request: dict[str, Any], model: ScriptedModel, **step: Any) -> dict[str, Any]:
    before = copy.deepcopy(request)
    answer: dict[str, Any] = (await CompactContextStep(as_decision_model=model, **step)(**request)).answer
    assert request == before
    return answer


def previewed(answer: dict[str, Any]) -> set[str]:
    return {decision["call_id"] for decision in answer["decisions"] if decision["action"] == "preview"}


def asked_about(answer: dict[str, Any], model: ScriptedModel) -> list[str]:
    """Return the ids of the calls that a model was asked about."""
    calls = {decision["id"]: decision["call_id"] for decision in answer["decisions"]}
    return [calls[unit] for unit in model.asked]


@EVERY_WRITING
async def test_a_growing_history_keeps_its_previews_bit_for_bit(writing: str) -> None:
    chat: list[ChatMessage] = []
    messages: list[dict[str, Any]] = []
    gone: set[str] = set()
    for turn in TURNS:
        chat = [*chat, *turn]
        request = {**request_of(chat, writing), "messages": [*messages, *WRITINGS[writing](turn)]}
        model = even_ones()
        answer = await compact(request, model)
        assert asked_about(answer, model) == [call_id for call_id in results_in(chat) if call_id not in gone]
        assert previewed(answer) == {call_id for call_id in results_in(turn) if int(call_id[1:].rstrip("b")) % 2 == 0}
        assert json.dumps(answer["messages"][: len(messages)]) == json.dumps(messages)
        assert answer["stats"]["first_changed_message"] >= len(messages)
        assert answer["stats"]["protected_by"].get("already_compacted", 0) == len(gone)
        gone |= previewed(answer)
        messages = answer["messages"]


@EVERY_WRITING
@pytest.mark.parametrize("archived", [False, True])
async def test_where_every_candidate_was_previewed_nothing_is_asked_and_nothing_changes(
    writing: str, archived: bool
) -> None:
    fields: dict[str, Any] = {"source_refs": {}, "archive": {"session": SESSION.name}} if archived else {}
    archive = memory_archive()
    request = request_of(chat_of(5), writing, **fields)
    first = await compact(request, always(0.0), archive=archive)
    kept = claimed(archive)
    model = always(0.0)
    again = await compact({**request, "messages": first["messages"]}, model, archive=archive)
    assert model.states == []
    assert json.dumps(again["messages"]) == json.dumps(first["messages"])
    assert (again["reason"], again["changed"], again["stats"]["requests"]) == ("no_candidates", False, 0)
    assert again["stats"]["protected_by"] == {"already_compacted": len(again["decisions"])}
    assert claimed(archive) == kept
    assert (len(kept) == len(again["decisions"])) is archived


@settings(max_examples=60)
@given(start=histories(), more=histories(), rest=histories())
async def test_whatever_history_grows_its_earlier_previews_stay(
    start: list[Message], more: list[Message], rest: list[Message]
) -> None:
    messages: list[Message] = []
    for turn in (start, more, rest):
        request = request_for([*messages, *turn])
        model = by_hash()
        answer = await compact(request, model)
        for now, before in zip(answer["messages"], request["messages"], strict=True):
            for block, known in zip(now["content"], before["content"], strict=True):
                if known["type"] == "tool_result" and is_preview(str(known["output"])):
                    assert block == known
        for state in model.states:
            assert not any(is_preview(unit["result"]) for unit in state["evidence_units"] if unit["result_complete"])
        messages = answer["messages"]


async def test_what_a_host_trims_or_continues_is_still_recognised() -> None:
    first = await compact(request_for(history(2)), always(0.0))
    messages = copy.deepcopy(first["messages"])
    messages[1]["content"][1]["output"] += "\n \n"
    messages[2]["content"][1]["output"] = [text(messages[2]["content"][1]["output"])]
    model = always(0.0)
    again = await compact(request_for(messages), model)
    assert (again["messages"], model.states) == (messages, [])


async def test_an_archived_history_stays_recoverable_over_turns() -> None:
    archive = memory_archive()
    messages: list[Message] = []
    for number in range(3):
        pairs = [
            message("assistant", made_call(call_id), result(call_id, long_text(call_id)))
            for call_id in (f"t{number}c0", f"t{number}c1")
        ]
        messages = [*messages, message("user", text(f"Turn {number}")), *pairs]
        request = request_for(
            messages, source_refs={}, archive={"session": SESSION.name}, options={"preserve_recent_pairs": 1}
        )
        answer = await compact_with(archive, request)
        check_recoverable(archive, SESSION, request, answer)
        messages = answer["messages"]
    assert claimed(archive) == ["t0c0", "t0c1", "t1c0", "t1c1", "t2c0"]
