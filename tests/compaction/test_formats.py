"""A history in any format comes back in that format, with the texts of previewed results changed and nothing else."""

import copy
import json
from typing import Any

import pytest
from models import ScriptedModel, always
from written_formats import WRITINGS, chat_of, format_of, request_of, results_in, with_results

from reme_compact import BinaryAnswer, CompactContextStep, CompactionRequest, CompactionResult, InvalidRequestError
from reme_compact.history.preview import preview_text

pytestmark = pytest.mark.anyio
EVERY_WRITING = pytest.mark.parametrize("writing", WRITINGS)

DROPPED = {"c1", "c2b", "c3"}


def by_call() -> ScriptedModel:
    """Need every result but those of some calls."""
    return ScriptedModel(lambda unit: BinaryAnswer(0.01 if unit["result"].split(":")[0] in DROPPED else 0.9))


def previews() -> dict[str, str]:
    """Return what those results read afterwards."""
    return {
        call_id: preview_text(text, f"archive/{call_id}", 300)
        for call_id, text in results_in(chat_of(5)).items()
        if call_id in DROPPED
    }


async def run(request: dict[str, Any], model: Any = None) -> dict[str, Any]:
    """Compact without the step's snapshot, so that what comes back can be told from copies."""
    before = copy.deepcopy(request)
    step = CompactContextStep(as_decision_model=model or by_call())
    answer: dict[str, Any] = (await step.run(CompactionRequest.parse(request))).answer
    assert request == before
    CompactionResult.model_validate(answer, strict=True)
    return answer


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@EVERY_WRITING
async def test_only_the_texts_of_previewed_results_change(writing: str) -> None:
    request = request_of(chat_of(5), writing)
    answer = await run(request)
    assert as_json(answer["messages"]) == as_json(WRITINGS[writing](with_results(chat_of(5), previews())))
    assert {decision["call_id"] for decision in answer["decisions"] if decision["action"] == "preview"} == DROPPED
    assert (answer["reason"], answer["stats"]["format"]) == ("compacted", format_of(writing))
    for now, before in zip(answer["messages"], request["messages"], strict=True):
        assert now is before or now != before


@EVERY_WRITING
async def test_without_a_preview_the_callers_own_messages_come_back(writing: str) -> None:
    request = request_of(chat_of(5), writing)
    answer = await run(request, always(0.9))
    assert all(now is before for now, before in zip(answer["messages"], request["messages"], strict=True))
    assert (answer["reason"], answer["changed"]) == ("no_change", False)
    assert answer["stats"]["format"] == format_of(writing)


@EVERY_WRITING
async def test_a_named_format_does_the_same_as_a_detected_one(writing: str) -> None:
    answers = [await run(request_of(chat_of(5), writing, format=name)) for name in (None, format_of(writing))]
    for answer in answers:
        answer["stats"].pop("elapsed_ms")
    assert answers[0] == answers[1]


@EVERY_WRITING
async def test_characters_are_those_of_the_source_and_of_the_proposal(writing: str) -> None:
    request = request_of(chat_of(5), writing)
    answer = await run(request)
    assert answer["stats"]["chars_before"] == len(as_json(request["messages"]))
    assert answer["stats"]["chars_after"] == len(as_json(answer["messages"]))
    assert answer["stats"]["messages_before"] == answer["stats"]["messages_after"] == len(request["messages"])


@EVERY_WRITING
async def test_a_host_may_append_to_its_history_meanwhile(writing: str) -> None:
    request = request_of(chat_of(5), writing)
    messages = request["messages"]
    number = len(messages)

    async def model(state: Any, questions: Any) -> Any:
        messages.append(messages[-1])
        return await by_call()(state, questions)

    answer = (await CompactContextStep(as_decision_model=model)(**request)).answer
    assert len(messages) > number
    assert answer["messages"] == WRITINGS[writing](with_results(chat_of(5), previews()))


@EVERY_WRITING
async def test_the_decision_model_is_shown_the_same_results_whichever_format(writing: str) -> None:
    model = by_call()
    await run(request_of(chat_of(5), writing), model)
    shown = [unit for state in model.states for unit in state["evidence_units"]]
    assert [unit["result"] for unit in shown] == list(results_in(chat_of(5)).values())
    assert {(unit["tool"], unit["input"].replace(" ", "")) for unit in shown} == {("read_file", '{"path":"a.py"}')}


async def test_where_several_formats_fit_they_are_named() -> None:
    messages = [{"role": "user", "content": "Fix the retries"}, {"role": "assistant", "content": "Done"}]
    with pytest.raises(InvalidRequestError) as caught:
        await run({"messages": messages})
    (problem,) = caught.value.problems
    assert problem["path"] == "format"
    assert all(f"'{name}'" in problem["message"] for name in ("openai_chat", "openai_responses", "anthropic"))
    for name in ("openai_chat", "openai_responses", "anthropic"):
        answer = await run({"messages": messages, "format": name})
        assert (answer["stats"]["format"], answer["reason"]) == (name, "no_candidates")


USER = {"role": "user", "content": "Fix the retries"}


@pytest.mark.parametrize(
    ("name", "message", "path"),
    [
        ("agentscope", USER, "messages[0].content"),
        ("openai_chat", {"role": "robot", "content": "x"}, "messages[1].role"),
        ("openai_chat", {"role": "tool", "tool_call_id": 7, "content": "x"}, "messages[1].tool_call_id"),
        ("openai_chat", {"role": "assistant", "tool_calls": [{"id": "c"}]}, "messages[1].tool_calls[0].function"),
        ("openai_responses", {"role": "user", "content": 7}, "messages[1].content"),
        ("openai_responses", {"arguments": "{}"}, "messages[1]"),
        ("anthropic", {"role": "tool", "content": "x"}, "messages[1].role"),
        ("anthropic", {"role": "user", "content": ["x"]}, "messages[1].content[0]"),
        ("langchain", {"type": "tool", "content": 7, "tool_call_id": "c"}, "messages[1].content"),
        ("langchain", {"type": "ai", "data": {"content": {}}}, "messages[1].data.content"),
        ("langchain", {"lc": 1, "id": ["x", "Robot"], "kwargs": {}}, "messages[1].id"),
    ],
)
async def test_a_wrong_message_is_named_by_its_place_in_the_callers_history(
    name: str, message: dict[str, Any], path: str
) -> None:
    first = {"type": "human", "content": "Fix the retries"} if name == "langchain" else USER
    with pytest.raises(InvalidRequestError) as caught:
        await run({"messages": [first, message], "format": name}, always(0.0))
    assert [problem["path"] for problem in caught.value.problems] == [path]


@pytest.mark.parametrize("key", ["summary", "tool_calls", "data"])
async def test_what_hints_at_another_format_does_not_make_an_invalid_message_valid(key: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await run({"messages": [{"role": "user", "content": ["x"], key: None}]}, always(0.0))
    assert [problem["path"] for problem in caught.value.problems] == ["messages[0].content[0]"]


async def test_a_history_in_no_known_format_is_refused_in_words_that_lead_on() -> None:
    with pytest.raises(InvalidRequestError, match="fit no other; name theirs") as caught:
        await run({"messages": [USER, {"role": "robot", "content": "x"}]}, always(0.0))
    assert [problem["path"] for problem in caught.value.problems] == ["messages[0].content"]
