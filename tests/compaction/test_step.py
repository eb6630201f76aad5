"""The step as a host uses it: reasons, statistics, counters and repeated compaction."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from histories import call, history, long_text, message, request_for, result, text
from models import ScriptedModel, always

from reme_compact import (
    AdditiveTokenCounter,
    BinaryAnswer,
    CompactContextStep,
    CompactionRequest,
    ConfigurationError,
    InvalidRequestError,
    TokenCounterError,
)

pytestmark = pytest.mark.anyio


def count(messages: list[dict[str, Any]]) -> int:
    return sum(len(str(block.get("output", ""))) for item in messages for block in item["content"])


async def answer_of(step: CompactContextStep, request: dict[str, Any]) -> dict[str, Any]:
    response = await step(**request)
    assert response.success is True
    assert response.metadata["compaction"] is response.answer["stats"]
    answer: dict[str, Any] = response.answer
    return answer


def reasons(answer: dict[str, Any]) -> list[str]:
    return [decision["reason"] for decision in answer["decisions"]]


async def test_an_unneeded_result_is_replaced_by_its_ends_and_its_reference() -> None:
    output = "HEAD " + long_text("middle") + " TAIL"
    messages = [message("user", text("go")), message("assistant", call("c1"), result("c1", output, metadata={"k": 1}))]
    answer = await answer_of(CompactContextStep(as_decision_model=always(0.05)), request_for(messages))
    replaced = answer["messages"][1]["content"][1]
    excerpt, marker = replaced["output"].rsplit("\n", 1)
    assert marker == "[Compacted output. Recover from: archive/c1]"
    assert excerpt.startswith("HEAD ")
    assert excerpt.endswith(" TAIL")
    assert "\n…\n" in excerpt
    assert len(excerpt) <= 300
    assert replaced == {**messages[1]["content"][1], "output": replaced["output"]}
    assert answer["decisions"] == [
        {
            "id": "t1",
            "call_id": "c1",
            "action": "preview",
            "reason": "low_relevance",
            "probability": 0.05,
            "source_ref": "archive/c1",
        }
    ]
    assert (answer["reason"], answer["changed"], answer["budget_met"]) == ("compacted", True, None)


async def test_the_threshold_is_inclusive_and_above_it_everything_is_kept() -> None:
    at = await answer_of(CompactContextStep(as_decision_model=always(0.1)), request_for(history(2)))
    above = await answer_of(CompactContextStep(as_decision_model=always(0.1000001)), request_for(history(2)))
    assert reasons(at) == ["low_relevance"] * 2
    assert reasons(above) == ["needed_or_uncertain"] * 2
    assert above["messages"] == history(2)
    assert above["reason"] == "no_change"


async def test_what_cannot_get_shorter_is_not_asked_about() -> None:
    model = always(0.0)
    answer = await answer_of(CompactContextStep(as_decision_model=model), request_for(history(3, chars=300)))
    assert reasons(answer) == ["no_savings"] * 3
    assert [decision["probability"] for decision in answer["decisions"]] == [None] * 3
    assert answer["stats"]["requests"] == answer["stats"]["asked"] == len(model.states) == 0
    assert answer["stats"]["candidates"] == 3


async def test_within_budget_nothing_is_asked() -> None:
    model = always(0.0)
    step = CompactContextStep(as_decision_model=model, token_counter=count)
    answer = await answer_of(step, request_for(history(3), options={"max_output_tokens": 6000}))
    assert reasons(answer) == ["within_budget"] * 3
    assert model.states == []
    assert (answer["budget_met"], answer["reason"], answer["stats"]["tokens_before"]) == (True, "no_change", 6000)


async def test_replacement_stops_as_soon_as_the_budget_is_met() -> None:
    probabilities = iter([0.03, 0.01, 0.02, 0.5])
    model = ScriptedModel(lambda _unit: BinaryAnswer(next(probabilities)))
    step = CompactContextStep(as_decision_model=model, token_counter=count)
    answer = await answer_of(step, request_for(history(4), options={"max_output_tokens": 6400}))
    assert reasons(answer) == ["within_budget", "low_relevance", "within_budget", "needed_or_uncertain"]
    assert answer["budget_met"] is True


async def test_needed_content_is_never_removed_to_force_a_fit() -> None:
    step = CompactContextStep(as_decision_model=always(0.9), token_counter=count)
    answer = await answer_of(step, request_for(history(3), options={"max_output_tokens": 10}))
    assert (answer["reason"], answer["budget_met"], answer["changed"]) == ("budget_exceeded", False, False)
    assert answer["messages"] == history(3)


async def test_equal_probabilities_go_by_larger_saving_then_by_position() -> None:
    middle = [
        message("assistant", call(f"c{n}"), result(f"c{n}", long_text(f"c{n}", chars)))
        for n, chars in enumerate([1000, 3000, 1000])
    ]
    messages = [message("user", text("go")), *middle]
    step = CompactContextStep(as_decision_model=always(0.0), token_counter=count)
    one = await answer_of(step, request_for(messages, options={"max_output_tokens": 2400}))
    two = await answer_of(step, request_for(messages, options={"max_output_tokens": 2300}))
    assert reasons(one) == ["within_budget", "low_relevance", "within_budget"]
    assert reasons(two) == ["low_relevance", "low_relevance", "within_budget"]


async def test_a_replacement_that_does_not_lower_the_count_is_undone() -> None:
    stubborn = AdditiveTokenCounter(
        lambda item: 100 if any(block.get("id") == "c0" for block in item["content"]) else len(str(item))
    )
    step = CompactContextStep(as_decision_model=always(0.0), token_counter=stubborn)
    answer = await answer_of(step, request_for(history(2), options={"max_output_tokens": 1}))
    assert reasons(answer) == ["no_savings", "low_relevance"]
    assert answer["messages"][1] == history(2)[1]
    assert answer["decisions"][0]["probability"] == 0.0


async def test_an_additive_counter_counts_each_message_once_and_each_replacement_once() -> None:
    calls: list[int] = []

    def count_message(item: dict[str, Any]) -> int:
        calls.append(1)
        return len(str(item))

    step = CompactContextStep(as_decision_model=always(0.0), token_counter=AdditiveTokenCounter(count_message))
    answer = await answer_of(step, request_for(history(50), options={"max_output_tokens": 1}))
    assert sum(1 for decision in answer["decisions"] if decision["action"] == "preview") == 50
    assert len(calls) == 52 + 50


async def test_an_opaque_counter_is_called_once_and_then_once_per_replacement() -> None:
    calls: list[int] = []

    def counter(messages: list[dict[str, Any]]) -> int:
        calls.append(1)
        return count(messages)

    step = CompactContextStep(as_decision_model=always(0.0), token_counter=counter)
    await answer_of(step, request_for(history(5)))
    assert calls == []
    await answer_of(step, request_for(history(5), options={"max_output_tokens": 1}))
    assert len(calls) == 1 + 5


@pytest.mark.parametrize("value", [True, -1, 1.5, "7", None])
async def test_a_counter_that_returns_no_count_is_a_typed_error_before_anything_is_asked(value: Any) -> None:
    model = always(0.0)
    step = CompactContextStep(as_decision_model=model, token_counter=lambda _messages: value)
    with pytest.raises(TokenCounterError):
        await step(**request_for(history(2), options={"max_output_tokens": 10}))
    assert model.states == []


async def test_a_counter_that_raises_is_a_typed_error_that_quotes_nothing() -> None:
    def counter(messages: list[dict[str, Any]]) -> int:
        raise ValueError(f"cannot count {messages}")

    step = CompactContextStep(as_decision_model=always(0.0), token_counter=counter)
    with pytest.raises(TokenCounterError, match=r"^The token counter raised ValueError\.$"):
        await step(**request_for(history(2), options={"max_output_tokens": 10}))


def _clears_everything(messages: list[dict[str, Any]]) -> None:
    for item in messages:
        for block in item["content"]:
            block.clear()
        item["content"].clear()
    messages.clear()


def _changes_one_text(messages: list[dict[str, Any]]) -> None:
    messages[2]["content"][1]["output"] = "x" * 9000


def _changes_what_is_nested(messages: list[dict[str, Any]]) -> None:
    messages[2]["content"][1]["metadata"]["tags"].append("x" * 9000)


def _replaces_the_content(messages: list[dict[str, Any]]) -> None:
    messages[1]["content"] = None
    messages[2] = {}


@pytest.mark.parametrize(
    "vandalise", [_clears_everything, _changes_one_text, _changes_what_is_nested, _replaces_the_content]
)
async def test_a_counter_cannot_reach_source_or_proposal_nor_its_own_next_count(
    vandalise: Callable[[list[dict[str, Any]]], None],
) -> None:
    def count_all(messages: list[dict[str, Any]]) -> int:
        return len(json.dumps(messages))

    def vandal(messages: list[dict[str, Any]]) -> int:
        total = count_all(messages)
        vandalise(messages)
        return total

    source = history(3)
    source[2]["content"][1]["metadata"] = {"tags": ["a"]}
    request = request_for(source, options={"max_output_tokens": 1})
    before = copy.deepcopy(request)
    answer = await answer_of(CompactContextStep(as_decision_model=always(0.0), token_counter=vandal), request)
    honest = await answer_of(CompactContextStep(as_decision_model=always(0.0), token_counter=count_all), request)
    for one in (answer, honest):
        one["stats"].pop("elapsed_ms")
    assert answer == honest
    assert reasons(answer) == ["low_relevance"] * 3
    assert request == before


async def test_a_budget_without_a_counter_fails_before_anything_is_asked() -> None:
    model = always(0.0)
    with pytest.raises(InvalidRequestError, match="max_output_tokens"):
        await CompactContextStep(as_decision_model=model)(**request_for(history(2), options={"max_output_tokens": 1}))
    assert model.states == []


async def test_a_request_may_name_a_registered_counter_only() -> None:
    counter = AdditiveTokenCounter(lambda item: count([item]), name="chars", approximate=True)
    step = CompactContextStep(as_decision_model=always(0.0), token_counters={"chars": lambda: counter})
    answer = await answer_of(step, request_for(history(2), token_counter="chars", options={"max_output_tokens": 3000}))
    assert answer["stats"]["token_counter"] == {"name": "chars", "approximate": True}
    assert answer["budget_met"] is True
    with pytest.raises(InvalidRequestError, match="did you mean 'chars'"):
        await step(**request_for(history(2), token_counter="char"))
    with pytest.raises(InvalidRequestError, match="token_counter"):
        await step(**request_for(history(2), token_counter="os:getpid"))


async def test_no_goal_anywhere_keeps_everything_and_says_so() -> None:
    messages = history(2)
    messages[0]["content"] = messages[-1]["content"] = []
    model = always(0.0)
    answer = await answer_of(CompactContextStep(as_decision_model=model), {**request_for(messages), "goal": " \n"})
    assert reasons(answer) == ["unobserved"] * 2
    assert model.states == []
    assert any("goal" in warning for warning in answer["stats"]["warnings"])


async def test_protections_that_match_nothing_are_warnings() -> None:
    request = request_for(
        history(1), protected_message_ids=["m0", "m7"], protected_call_ids=["c9"], eligible_tool_names=["read_fil"]
    )
    answer = await answer_of(CompactContextStep(as_decision_model=always(0.0)), request)
    warnings = " ".join(answer["stats"]["warnings"])
    for name in ("'m7'", "'c9'", "'read_fil'"):
        assert name in warnings
    assert "'m0'" not in warnings


async def test_calls_and_results_that_cannot_be_paired_are_explained() -> None:
    messages = [
        message("user", text("go")),
        message("assistant", call("twice"), call("twice"), result("twice", long_text("x"))),
        message(
            "assistant", call("never"), result("orphan", long_text("y")), {"type": "tool_call", "name": "read_file"}
        ),
    ]
    answer = await answer_of(CompactContextStep(as_decision_model=always(0.0)), request_for(messages))
    assert [(d["id"], d["call_id"]) for d in answer["decisions"]] == [("t1", "twice"), ("t2", "twice"), ("t3", "never")]
    assert answer["stats"]["details"] == {"t1": "ambiguous_id", "t2": "ambiguous_id", "t3": "result_missing"}
    assert answer["stats"]["protected_by"] == {"ambiguous_id": 2, "result_missing": 1}
    assert answer["reason"] == "no_candidates"
    assert any("'orphan'" in warning for warning in answer["stats"]["warnings"])
    assert any("without an id" in warning for warning in answer["stats"]["warnings"])


async def test_a_fully_compacted_proposal_sends_no_request_and_changes_nothing() -> None:
    first = await answer_of(CompactContextStep(as_decision_model=always(0.0)), request_for(history(4)))
    model = always(0.0)
    second = await answer_of(CompactContextStep(as_decision_model=model), request_for(first["messages"]))
    assert second["messages"] == first["messages"]
    assert second["stats"]["protected_by"] == {"already_compacted": 4}
    assert model.states == []


async def test_appending_to_the_history_meanwhile_does_not_disturb() -> None:
    messages = history(2)

    async def appends(state: Any, questions: Any) -> Any:
        messages.append(message("user", text("one more thing")))
        messages[1]["content"].append(call("late"))
        return await always(0.0)(state, questions)

    answer = await answer_of(CompactContextStep(as_decision_model=appends), request_for(messages))
    assert len(answer["messages"]) == 4
    assert reasons(answer) == ["low_relevance"] * 2


async def test_a_validated_request_runs_as_its_keys_do() -> None:
    step = CompactContextStep(as_decision_model=always(0.0))
    by_keys = (await step(**CompactionRequest.example)).answer
    by_request = (await step.run(CompactionRequest.parse(CompactionRequest.example))).answer
    for answer in (by_keys, by_request):
        answer["stats"].pop("elapsed_ms")
    assert by_keys == by_request


@pytest.mark.parametrize("model", [None, 7, "remote", object(), ScriptedModel, lambda: None, lambda _state: None])
def test_what_cannot_be_a_decision_model_is_refused_at_construction(model: Any) -> None:
    with pytest.raises(TypeError, match="as_decision_model"):
        CompactContextStep(as_decision_model=model)


async def _counts_later(messages: Any) -> int:
    return len(messages)


@pytest.mark.parametrize("counter", [7, _counts_later])
def test_what_cannot_be_a_counter_is_refused_at_construction(counter: Any) -> None:
    with pytest.raises(TypeError, match="token_counter"):
        CompactContextStep(as_decision_model=always(0.0), token_counter=counter)


async def test_a_built_in_counter_is_named_where_a_host_passes_its_own() -> None:
    step = CompactContextStep(as_decision_model=always(0.0), token_counter="estimate")
    answer = await answer_of(step, request_for(history(4), options={"max_output_tokens": 1200}))
    assert answer["stats"]["token_counter"] == {"name": "estimate", "approximate": True}
    assert answer["budget_met"] is True
    with pytest.raises(ConfigurationError, match="Unknown token counter"):
        CompactContextStep(as_decision_model=always(0.0), token_counter="estimat")


async def test_a_counter_in_the_wrong_place_is_refused_with_the_right_one() -> None:
    step = CompactContextStep(as_decision_model=always(0.0))
    with pytest.raises(InvalidRequestError, match=r"CompactContextStep\(token_counter=\.\.\.\)"):
        await step(**request_for(history(1), token_counter=count))
    with pytest.raises(InvalidRequestError, match="no token counter is registered here"):
        await step(**request_for(history(1), token_counter="estimate"))


async def test_blocks_of_another_format_are_named_in_a_warning() -> None:
    foreign = {"type": "tool_use", "id": "c1", "name": "read_file", "input": {}}
    request = {**request_for([message("assistant", foreign)]), "format": "agentscope"}
    answer = await answer_of(CompactContextStep(as_decision_model=always(0.0)), request)
    assert any("'tool_use'" in warning for warning in answer["stats"]["warnings"])
    assert answer["messages"] == [message("assistant", foreign)]


@pytest.mark.parametrize("constant", [True, -1, 1.5, "7", None])
def test_a_constant_that_is_no_count_is_refused(constant: Any) -> None:
    with pytest.raises(TokenCounterError, match="constant"):
        AdditiveTokenCounter(lambda _message: 1, constant)


@pytest.mark.parametrize("error", [SystemExit, GeneratorExit, BaseException])
async def test_a_counter_that_raises_what_is_no_exception_is_a_typed_error_too(error: type[BaseException]) -> None:
    def counter(messages: list[dict[str, Any]]) -> int:
        raise error

    step = CompactContextStep(as_decision_model=always(0.0), token_counter=counter)
    with pytest.raises(TokenCounterError, match=error.__name__):
        await step(**request_for(history(2), options={"max_output_tokens": 10}))


@pytest.mark.parametrize("kind", [{}, [1], 7, None])
async def test_a_block_of_no_type_is_counted_and_carried_along(kind: Any) -> None:
    messages = [*history(2), message("user", {"type": kind, "payload": "x"})]
    answer = await answer_of(
        CompactContextStep(as_decision_model=always(0.0), token_counter="estimate"),
        request_for(messages, options={"max_output_tokens": 1}),
    )
    assert answer["messages"][-1] == messages[-1]
    assert reasons(answer) == ["low_relevance"] * 2


@pytest.mark.parametrize("tool_input", [{"n": 2**70}, {"n": "\ud800"}, {"\ud800": 1}])
@pytest.mark.parametrize("protected", [[], ["c9"]])
async def test_an_input_that_json_writers_refuse_costs_only_its_own_pair(tool_input: Any, protected: list[str]) -> None:
    messages = [*history(2), message("assistant", call("c9", tool_input=tool_input), result("c9", long_text("x")))]
    answer = await answer_of(
        CompactContextStep(as_decision_model=always(0.0)), request_for(messages, protected_call_ids=protected)
    )
    assert reasons(answer)[:2] == ["low_relevance"] * 2


async def test_when_the_time_is_up_before_anything_was_asked_everything_is_kept() -> None:
    model = always(0.0)
    answer = await answer_of(
        CompactContextStep(as_decision_model=model), request_for(history(3), options={"total_timeout_seconds": 1e-9})
    )
    assert reasons(answer) == ["timeout"] * 3
    assert model.states == []
    assert any("total_timeout_seconds" in warning for warning in answer["stats"]["warnings"])


@pytest.mark.parametrize("by_block", [False, True])
async def test_without_a_budget_only_what_was_replaced_is_counted_again(by_block: bool) -> None:
    calls = 0

    def count_part(part: dict[str, Any]) -> int:
        nonlocal calls
        calls += 1
        return len(str(part.get("output", ""))) if by_block else count([part])

    counter = AdditiveTokenCounter(
        (lambda item: count([item])) if by_block else count_part, count_block=count_part if by_block else None
    )
    model = ScriptedModel(lambda unit: BinaryAnswer(0.0 if unit["id"] == "t2" else 0.9))
    step = CompactContextStep(
        as_decision_model=model, token_counters={"registered": lambda: counter}, default_token_counter="registered"
    )
    answer = await answer_of(step, request_for(history(10)))
    parts = sum(len(item["content"]) for item in history(10)) if by_block else len(history(10))
    assert calls == parts + 1
    assert answer["stats"]["tokens_before"] == count(history(10))
    assert answer["stats"]["tokens_after"] == count(answer["messages"]) < count(history(10))
