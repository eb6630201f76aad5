"""What must hold for every history, however odd, whatever the decision model answers."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from histories import Message, histories, load_history, request_for, trajectory_files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models import ScriptedModel, by_hash

from reme_compact import AdditiveTokenCounter, CompactContextStep, CompactionResult
from reme_compact.history.preview import is_preview
from reme_compact.history.text import result_text

pytestmark = pytest.mark.anyio


def count_message(message: Message) -> int:
    return 3 + sum(len(json.dumps(block)) // 4 for block in message["content"])


def count_messages(messages: list[Message]) -> int:
    return 7 + sum(count_message(message) for message in messages)


def results_of(messages: list[Message]) -> dict[tuple[int, int], dict[str, Any]]:
    return {
        (i, j): block
        for i, message in enumerate(messages)
        for j, block in enumerate(message["content"])
        if block["type"] == "tool_result"
    }


async def check(request: dict[str, Any], model: ScriptedModel, **step_arguments: Any) -> dict[str, Any]:
    """Compact, and hold the answer against every invariant."""
    before = copy.deepcopy(request)
    written = json.dumps(request)
    step = CompactContextStep(as_decision_model=model, **step_arguments)
    answer: dict[str, Any] = (await step(**request)).answer
    assert request == before
    assert json.dumps(request) == written
    CompactionResult.model_validate(answer, strict=True)
    json.dumps(answer, allow_nan=False)
    check_messages(before["messages"], answer)
    check_decisions(before, answer, model)
    return answer


def check_messages(source: list[Message], answer: dict[str, Any]) -> None:
    """Same messages, blocks, order and ids; only the output of previewed results differs, and is shorter."""
    proposed = answer["messages"]
    previewed = {d["call_id"] for d in answer["decisions"] if d["action"] == "preview"}
    masked_source, masked_proposed = copy.deepcopy(source), copy.deepcopy(proposed)
    old, new = results_of(masked_source), results_of(masked_proposed)
    assert old.keys() == new.keys()
    changed = set()
    for at, block in old.items():
        if block.get("output") == new[at].get("output"):
            continue
        changed.add(block["id"])
        text = result_text(block)
        assert text is not None
        assert len(new[at]["output"]) < len(text)
        assert is_preview(new[at]["output"])
        assert not is_preview(text)
        block["output"] = new[at]["output"] = None
    assert masked_source == masked_proposed
    assert changed == previewed
    assert answer["changed"] == bool(previewed)
    stats = answer["stats"]
    assert stats["chars_before"] == len(json.dumps(source, ensure_ascii=False, separators=(",", ":")))
    assert stats["chars_after"] == len(json.dumps(proposed, ensure_ascii=False, separators=(",", ":")))


def check_decisions(request: dict[str, Any], answer: dict[str, Any], model: ScriptedModel) -> None:
    blocks = [block for message in request["messages"] for block in message["content"]]
    calls = [block["id"] for block in blocks if block["type"] == "tool_call" and block.get("id")]
    decisions = answer["decisions"]
    assert [d["call_id"] for d in decisions] == calls
    assert [d["id"] for d in decisions] == [f"t{n}" for n in range(1, len(calls) + 1)]
    threshold = request["options"].get("drop_threshold", 0.1)
    for decision in decisions:
        if decision["action"] == "preview":
            assert decision["reason"] == "low_relevance"
            assert decision["probability"] is not None
            assert decision["probability"] <= threshold
            assert decision["source_ref"]
        if decision["reason"] == "protected":
            assert decision["id"] in answer["stats"]["details"]
            assert decision["id"] not in model.asked
        if decision["reason"] == "no_savings" and decision["probability"] is None:
            assert decision["id"] not in model.asked
    assert len(model.asked) == len(set(model.asked)) == answer["stats"]["asked"]
    assert answer["stats"]["requests"] == len(model.states)
    earlier = {
        block["id"] for block in blocks if block["type"] == "tool_result" and is_preview(result_text(block) or "")
    }
    assert not earlier & {d["call_id"] for d in decisions if d["action"] == "preview"}


def check_budget(answer: dict[str, Any], budget: int) -> None:
    """`budget_met` is what the counter says; nothing was replaced beyond need; order of application is ascending."""
    stats = answer["stats"]
    assert stats["tokens_after"] == count_messages(answer["messages"])
    assert answer["budget_met"] == (count_messages(answer["messages"]) <= budget)
    assert (answer["reason"] == "budget_exceeded") == (not answer["budget_met"])
    by_reason: dict[str, list[float]] = {"low_relevance": [], "within_budget": []}
    for decision in answer["decisions"]:
        if decision["reason"] in by_reason and decision["probability"] is not None:
            by_reason[decision["reason"]].append(decision["probability"])
    if by_reason["low_relevance"] and by_reason["within_budget"]:
        assert max(by_reason["low_relevance"]) <= min(by_reason["within_budget"])
    if not answer["budget_met"]:
        assert not by_reason["within_budget"]


OPTIONS = st.fixed_dictionaries(
    {
        "preview_chars": st.sampled_from([0, 1, 3, 5, 40, 300]),
        "evidence_chars": st.sampled_from([1, 50, 2000]),
        "preserve_recent_messages": st.integers(0, 2),
        "drop_threshold": st.sampled_from([0, 0.02, 0.1, 1]),
        "max_state_tokens": st.sampled_from([400, 900, 25000]),
    },
    optional={"preserve_recent_pairs": st.integers(0, 2)},
)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(messages=histories(), options=OPTIONS, share=st.sampled_from([0.0, 0.5, 0.9, 2.0]), opaque=st.booleans())
async def test_every_invariant_holds(
    messages: list[Message], options: dict[str, Any], share: float, opaque: bool
) -> None:
    request = request_for(messages, options=options)
    await check(request, by_hash())

    budget = max(1, int(share * count_messages(messages)))
    counter = count_messages if opaque else AdditiveTokenCounter(count_message, constant=7)
    request = request_for(messages, options={**options, "max_output_tokens": budget})
    answer = await check(request, by_hash(), token_counter=counter)
    check_budget(answer, budget)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(messages=histories(), options=OPTIONS, share=st.sampled_from([0.3, 0.6, 0.9]))
async def test_opaque_and_additive_counters_decide_alike(
    messages: list[Message], options: dict[str, Any], share: float
) -> None:
    request = request_for(
        messages, options={**options, "max_output_tokens": max(1, int(share * count_messages(messages)))}
    )
    block_additive = AdditiveTokenCounter(count_message, 7, count_block=lambda block: len(json.dumps(block)) // 4)
    answers = [
        await check(request, by_hash(), token_counter=counter)
        for counter in (count_messages, AdditiveTokenCounter(count_message, 7), block_additive)
    ]
    for answer in answers:
        answer["stats"].pop("elapsed_ms")
        answer["stats"].pop("tokens_from_first_change")  # a counter of whole histories cannot tell
    assert answers[0] == answers[1] == answers[2]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(messages=histories(), options=OPTIONS)
async def test_a_proposal_compacted_again_does_not_change_its_previews(
    messages: list[Message], options: dict[str, Any]
) -> None:
    first = await check(request_for(messages, options=options), by_hash())
    again = by_hash()
    second = await check(request_for(first["messages"], options=options), again)
    previewed = {d["id"] for d in first["decisions"] if d["action"] == "preview"}
    assert not previewed & set(again.asked)
    old, new = results_of(first["messages"]), results_of(second["messages"])
    for at, block in old.items():
        if is_preview(result_text(block) or ""):
            assert new[at] == block


@pytest.mark.parametrize("path", trajectory_files(), ids=lambda path: path.name.split(".")[0])
@pytest.mark.parametrize("share", [None, 0.5, 0.9])
async def test_every_invariant_holds_on_recorded_histories(path: Path, share: float | None) -> None:
    messages = load_history(path)
    options: dict[str, Any] = {"preserve_recent_pairs": 3}
    if share is not None:
        options["max_output_tokens"] = int(share * count_messages(messages))
    counter = AdditiveTokenCounter(count_message, constant=7)
    answer = await check(request_for(messages, options=options), by_hash(), token_counter=counter)
    if share is not None:
        check_budget(answer, options["max_output_tokens"])
