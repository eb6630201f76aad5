"""Bad input costs its own pair or gets a typed error; it never costs the rest of the request."""

import copy
from typing import Any

import pytest
from histories import call, history, long_text, message, request_for, result, text
from models import always

from reme_compact import CompactContextStep, InvalidRequestError

pytestmark = pytest.mark.anyio

DEEP = '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"


async def compact(request: dict[str, Any]) -> dict[str, Any]:
    source = copy.deepcopy(request["messages"])
    answer: dict[str, Any] = (await CompactContextStep(as_decision_model=always(0.0))(**request)).answer
    assert request["messages"] == source
    return answer


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"messages": []}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [None]}, r"messages\[0\]"),
        ({"messages": [{"role": "robot", "content": []}]}, r"messages\[0\]\.role"),
        ({"format": "agentscope", "messages": [{"role": "tool", "content": []}]}, r"messages\[0\]\.role"),
        ({"messages": [{"role": ["user"], "content": []}]}, r"messages\[0\]\.role"),
        ({"messages": [{"role": "user", "content": "hi"}]}, "format: .*'openai_chat'.* and "),
        ({"format": "agentscope", "messages": [{"role": "user", "content": "hi"}]}, r"messages\[0\]\.content"),
        ({"format": "openai"}, "format"),
        ({"messages": [{"role": "user", "content": ["hi"]}]}, r"messages\[0\]\.content\[0\]"),
        ({"messages": [{"role": "user"}]}, r"messages\[0\]\.content"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "n": float("nan")}]}]}, r"content\[0\]\.n"),
        ({"messages": [{"role": "user", "content": [], "x": [{"y": float("inf")}]}]}, r"messages\[0\]\.x\[0\]\.y"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "x": object()}]}]}, r"content\[0\]\.x"),
        ({"messages": [{"role": "user", "content": [{7: "x"}]}]}, r"content\[0\]"),
        ({"goal": 7}, "goal"),
        ({"source_refs": {"c0": None}}, r"source_refs\.c0"),
        ({"source_refs": ["c0"]}, "source_refs"),
        ({"eligible_tool_names": "read_file"}, "eligible_tool_names"),
        ({"options": {"drop_threshold": True}}, r"options\.drop_threshold"),
        ({"options": {"drop_threshold": "0.1"}}, r"options\.drop_threshold"),
        ({"options": {"drop_threshold": float("nan")}}, r"options\.drop_threshold"),
        ({"options": {"drop_threshold": 1.01}}, r"options\.drop_threshold"),
        ({"options": {"total_timeout_seconds": float("inf")}}, r"options\.total_timeout_seconds"),
        ({"options": {"total_timeout_seconds": 0}}, r"options\.total_timeout_seconds"),
        ({"options": {"max_concurrency": 33}}, r"options\.max_concurrency"),
        ({"options": {"preview_chars": 1.5}}, r"options\.preview_chars"),
        ({"options": {"preserve_recent_messages": True}}, r"options\.preserve_recent_messages"),
        ({"options": {"max_tokens": 5}}, r"options\.max_tokens: unknown key"),
        ({"protected_calls": []}, "protected_calls: unknown key; did you mean 'protected_call_ids'"),
    ],
)
async def test_a_broken_request_is_refused_by_name(change: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidRequestError, match=path):
        await CompactContextStep(as_decision_model=always(0.0))(**{**request_for(history(1)), **change})


async def test_a_value_nested_beyond_reason_is_refused() -> None:
    nested: Any = []
    for _ in range(100_000):
        nested = [nested]
    block = {"type": "text", "text": "x", "extra": nested}
    with pytest.raises(InvalidRequestError, match="nested too deeply"):
        await CompactContextStep(as_decision_model=always(0.0))(messages=[message("user", block)])


ODD_PAIRS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "lone surrogate in a result": ([call("odd"), result("odd", "\ud800" + long_text("x"))], "lone_surrogate"),
    "lone surrogate in an input": (
        [call("odd", tool_input='{"path": "\ud800"}'), result("odd", long_text("x"))],
        "lone_surrogate",
    ),
    "lone surrogate in an id": ([call("odd\ud800"), result("odd\ud800", long_text("x"))], "invalid_source_ref"),
    "input nested 100,000 deep": ([call("odd", tool_input=DEEP), result("odd", long_text("x"))], "invalid_input"),
    "integer of 5,000 digits": (
        [call("odd", tool_input='{"n": ' + "7" * 5000 + "}"), result("odd", long_text("x"))],
        "invalid_input",
    ),
    "input with NaN": ([call("odd", tool_input='{"n": NaN}'), result("odd", long_text("x"))], "invalid_input"),
    "input with 1e999": ([call("odd", tool_input='{"n": 1e999}'), result("odd", long_text("x"))], "invalid_input"),
    "input with a key twice": (
        [call("odd", tool_input='{"n":1,"n":2}'), result("odd", long_text("x"))],
        "invalid_input",
    ),
    "input that is a list": ([call("odd", tool_input="[]"), result("odd", long_text("x"))], "invalid_input"),
    "result before its call": ([result("odd", long_text("x")), call("odd")], "result_missing"),
    "result twice": ([call("odd"), result("odd", "a"), result("odd", long_text("x"))], "ambiguous_id"),
    "failed result": ([call("odd"), result("odd", long_text("x"), state="error")], "result_not_success"),
    "unfinished call": ([call("odd", state="pending"), result("odd", long_text("x"))], "call_not_finished"),
    "name that is no text": ([call("odd", ["x"]), result("odd", long_text("x"))], "tool_not_eligible"),
    "output that is a number": ([call("odd"), result("odd", 7)], "not_text"),
    "no output": (
        [call("odd"), {"type": "tool_result", "id": "odd", "name": "read_file", "state": "success"}],
        "not_text",
    ),
}


@pytest.mark.parametrize("name", ODD_PAIRS)
async def test_an_odd_pair_is_left_alone_and_explained_and_the_others_go_on(name: str) -> None:
    blocks, rule = ODD_PAIRS[name]
    messages = [*history(2), message("assistant", *blocks)]
    request = request_for(messages)
    if "id" in name:
        request["source_refs"]["odd\ud800"] = "archive/\ud800"
    answer = await compact(request)
    by_call = {decision["call_id"]: decision for decision in answer["decisions"]}
    odd = by_call[blocks[0]["id"]]
    assert odd["action"] == "keep"
    assert answer["stats"]["details"][odd["id"]] == rule
    assert answer["messages"][-1] == messages[-1]
    assert [by_call["c0"]["action"], by_call["c1"]["action"]] == ["preview", "preview"]


@pytest.mark.parametrize("reference", ["", "  ", "a\nb", "a\x00b", "a\x7fb", "a\x85b", "a\ud800b"])
async def test_a_reference_that_cannot_stand_in_a_marker_protects_its_pair(reference: str) -> None:
    answer = await compact({**request_for(history(2)), "source_refs": {"c0": reference, "c1": "any thing [at] all"}})
    assert answer["stats"]["details"]["t1"] == "invalid_source_ref"
    assert [decision["action"] for decision in answer["decisions"]] == ["keep", "preview"]


async def test_duplicate_call_ids_across_messages_are_left_alone() -> None:
    messages = [*history(2), message("assistant", call("c0"), result("c0", long_text("again")))]
    answer = await compact(request_for(messages))
    assert [decision["reason"] for decision in answer["decisions"]] == ["protected", "low_relevance", "protected"]


async def test_a_goal_of_130_000_characters_is_shortened_and_marked() -> None:
    model = always(0.0)
    await CompactContextStep(as_decision_model=model)(**{**request_for(history(2)), "goal": "word " * 26_000})
    state = model.states[0]
    assert len(state["goal"]) <= 2000
    assert state["task_context_complete"] is False


async def test_sixty_system_messages_leave_room_for_the_evidence() -> None:
    rules = [message("system", text(long_text(f"rule {n}", 4000))) for n in range(60)]
    model = always(0.0)
    answer = (await CompactContextStep(as_decision_model=model)(**request_for([*rules, *history(20)]))).answer
    assert answer["stats"]["asked"] == 20
    assert answer["stats"]["state_tokens"] <= 25_000
    assert model.states[0]["task_context_complete"] is False


async def test_a_unit_that_fits_no_request_is_kept_and_the_others_are_asked() -> None:
    messages = [*history(2), message("assistant", call("big"), result("big", long_text("big", 20_000)))]
    answer = await compact(request_for(messages, options={"evidence_chars": 40_000, "max_state_tokens": 1700}))
    assert [decision["reason"] for decision in answer["decisions"]] == ["low_relevance", "low_relevance", "unobserved"]
    assert answer["stats"]["details"]["t3"] == "oversized"
    assert any("do not fit" in warning for warning in answer["stats"]["warnings"])
