"""`min_saved_tokens`: no change at all unless it is worth what a changed history costs."""

import copy
from typing import Any

import pytest
from archiving import SESSION, claimed, compact_with, counts_output, everything_in, memory_archive, references_of
from histories import history, request_for
from models import ScriptedModel, always
from written_formats import WRITINGS, chat_of, request_of

from reme_compact import AdditiveTokenCounter, BinaryAnswer, CompactContextStep, InvalidRequestError

pytestmark = pytest.mark.anyio

SOURCE = 2000
PREVIEW = len("\n[Compacted output. Recover from: archive/c0]")
SAVED = SOURCE - PREVIEW
"""Characters, which are tokens here, that one replacement saves where `preview_chars` is 0."""

count = counts_output()
ADDITIVE = AdditiveTokenCounter(lambda item: count([item]))


def first_ones(number: int) -> ScriptedModel:
    """Need all results but the first few."""
    return ScriptedModel(lambda unit: BinaryAnswer(0.01 if int(unit["result"].split(":")[0][1:]) < number else 0.9))


async def compact(model: Any, counter: Any = count, pairs: int = 4, **options: Any) -> dict[str, Any]:
    messages = history(pairs)
    before = copy.deepcopy(messages)
    request = request_for(messages, options={"preview_chars": 0, **options})
    answer: dict[str, Any] = (
        await CompactContextStep(as_decision_model=model, token_counter=counter)(**request)
    ).answer
    assert messages == before
    return answer


def reasons(answer: dict[str, Any]) -> list[str]:
    return [decision["reason"] for decision in answer["decisions"]]


@pytest.mark.parametrize("counter", [count, ADDITIVE], ids=["opaque", "additive"])
async def test_what_saves_enough_is_done_and_one_token_less_is_not(counter: Any) -> None:
    enough = await compact(first_ones(2), counter, min_saved_tokens=2 * SAVED)
    assert reasons(enough) == ["low_relevance"] * 2 + ["needed_or_uncertain"] * 2
    assert (enough["reason"], enough["stats"]["tokens_after"]) == ("compacted", 4 * SOURCE - 2 * SAVED)

    too_little = await compact(first_ones(2), counter, min_saved_tokens=2 * SAVED + 1)
    stats = too_little["stats"]
    assert too_little["messages"] == history(4)
    assert (too_little["reason"], too_little["changed"], too_little["budget_met"]) == ("no_change", False, None)
    assert reasons(too_little) == ["no_savings"] * 2 + ["needed_or_uncertain"] * 2
    assert stats["details"] == {"t1": "min_saved_tokens", "t2": "min_saved_tokens"}
    assert [decision["action"] for decision in too_little["decisions"]] == ["keep"] * 4
    assert [decision["probability"] for decision in too_little["decisions"]] == [0.01, 0.01, 0.9, 0.9]
    assert stats["tokens_before"] == stats["tokens_after"] == 4 * SOURCE
    assert stats["chars_before"] == stats["chars_after"]
    assert [stats[key] for key in stats if "first_change" in key] == [None] * 3


@pytest.mark.parametrize("writing", WRITINGS)
async def test_in_every_format_the_callers_own_results_come_back(writing: str) -> None:
    request = request_of(chat_of(5), writing, options={"min_saved_tokens": 10**9})
    step = CompactContextStep(as_decision_model=always(0.0), token_counter=lambda messages: len(str(messages)))
    answer = (await step(**request)).answer
    assert answer["messages"] == WRITINGS[writing](chat_of(5))
    assert (answer["reason"], answer["changed"]) == ("no_change", False)
    assert answer["stats"]["chars_before"] == answer["stats"]["chars_after"]


async def test_the_archive_keeps_no_claim_to_what_was_not_replaced() -> None:
    archive = memory_archive()
    request = request_for(
        history(3), source_refs={}, archive={"session": SESSION.name}, options={"min_saved_tokens": 10**6}
    )
    answer = await compact_with(archive, request, token_counter=count)
    assert (answer["messages"], references_of(answer), claimed(archive)) == (history(3), [], [])
    assert answer["stats"]["archived"] == {"results": 0, "chars": 0}

    earlier = {**request, "options": {**request["options"], "min_saved_tokens": 1}}
    await compact_with(archive, earlier, first_ones(1), token_counter=count)
    before = everything_in(archive)
    await compact_with(archive, request, token_counter=count)
    assert claimed(archive) == ["c0"]
    assert set(everything_in(archive)) >= set(before)


async def test_with_a_budget_more_is_replaced_until_it_is_worth_it() -> None:
    """The budget alone would be met by one replacement."""
    options = {"max_output_tokens": 4 * SOURCE - 1}
    alone = await compact(always(0.0), **options)
    assert reasons(alone) == ["low_relevance"] + ["within_budget"] * 3

    both = await compact(always(0.0), **options, min_saved_tokens=2 * SAVED)
    assert reasons(both) == ["low_relevance"] * 2 + ["within_budget"] * 2
    assert (both["reason"], both["budget_met"]) == ("compacted", True)


async def test_a_budget_does_not_make_a_change_worth_it() -> None:
    answer = await compact(always(0.0), max_output_tokens=4 * SOURCE - 1, min_saved_tokens=4 * SAVED + 1)
    assert answer["messages"] == history(4)
    assert (answer["reason"], answer["budget_met"], answer["changed"]) == ("budget_exceeded", False, False)
    assert reasons(answer) == ["no_savings"] * 4


async def test_a_history_that_fits_is_not_asked_about_for_the_sake_of_saving() -> None:
    model = always(0.0)
    answer = await compact(model, max_output_tokens=4 * SOURCE, min_saved_tokens=1)
    assert (reasons(answer), model.states) == (["within_budget"] * 4, [])


async def test_nothing_to_replace_is_no_change_for_want_of_savings() -> None:
    answer = await compact(always(0.9), min_saved_tokens=1)
    assert reasons(answer) == ["needed_or_uncertain"] * 4
    assert answer["stats"]["details"] == {}


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "100"])
async def test_it_is_a_number_of_tokens_from_one_up(value: Any) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await compact(always(0.0), min_saved_tokens=value)
    assert [problem["path"] for problem in caught.value.problems] == ["options.min_saved_tokens"]


async def test_without_a_counter_it_is_refused_before_anything_is_asked() -> None:
    model = always(0.0)
    with pytest.raises(InvalidRequestError) as caught:
        await compact(model, None, min_saved_tokens=100)
    (problem,) = caught.value.problems
    assert problem["path"] == "options.min_saved_tokens"
    assert "token counter" in problem["message"]
    assert model.states == []
