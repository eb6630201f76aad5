"""Content that is a list of parts keeps its shape when it is previewed, and what no format reads stays as it is."""

import copy
import json
from typing import Any

import pytest
from histories import long_text
from models import ScriptedModel, always
from provider_histories import function_call, function_output, reasoning, said, thought, tool_result, tool_use

from reme_compact import BinaryAnswer, CompactContextStep, CompactionRequest
from reme_compact.history.preview import preview_text

pytestmark = pytest.mark.anyio

CACHED = {"cache_control": {"type": "ephemeral"}}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
TEXTS = [long_text("one"), long_text("zwei grün")]
PREVIEW = preview_text("\n".join(TEXTS), "archive/c1", 40)


async def compacted(messages: list[dict[str, Any]], model: Any = None, **fields: Any) -> dict[str, Any]:
    """Compact; characters are exact, and the source is what it was."""
    ids = ["c1", "c2", "c3"]
    before = copy.deepcopy(messages)
    request = {
        "messages": messages,
        "goal": "Fix the retries",
        "source_refs": {call_id: f"archive/{call_id}" for call_id in ids},
        "eligible_tool_names": ["read_file"],
        "options": {"preserve_recent_messages": 0, "preview_chars": 40},
        **fields,
    }
    step = CompactContextStep(as_decision_model=model or always(0.0))
    answer: dict[str, Any] = (await step.run(CompactionRequest.parse(request))).answer
    assert messages == before
    for key, history in (("chars_before", messages), ("chars_after", answer["messages"])):
        assert answer["stats"][key] == len(json.dumps(history, ensure_ascii=False, separators=(",", ":")))
    return answer


def rules_by_call(answer: dict[str, Any]) -> dict[str, str]:
    details = answer["stats"]["details"]
    return {decision["call_id"]: details.get(decision["id"], decision["action"]) for decision in answer["decisions"]}


async def test_anthropic_blocks_stay_blocks_and_keep_where_the_prompt_is_cached() -> None:
    parts = [{"type": "text", "text": TEXTS[0]}, {"type": "text", "text": TEXTS[1], **CACHED}]
    results = [tool_result("c1", parts, is_error=False), tool_result("c2", "short"), {"type": "text", "text": "on"}]
    messages = [
        said("user", "Fix"),
        said("assistant", thought(), tool_use("c1"), tool_use("c2")),
        {"role": "user", "content": results, "kept": {"n": 1}},
    ]
    answer = await compacted(messages)
    now = answer["messages"][2]
    assert now["content"][0] == {**results[0], "content": [{"type": "text", "text": PREVIEW, **CACHED}]}
    assert [ours is theirs for ours, theirs in zip(now["content"], results, strict=True)] == [False, True, True]
    assert {**now, "content": None} == {**messages[2], "content": None}
    assert all(ours is theirs for ours, theirs in zip(answer["messages"][:2], messages[:2], strict=True))


async def test_responses_parts_stay_parts_beside_reasoning_and_what_the_provider_ran_itself() -> None:
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    parts = [{"type": "input_text", "text": TEXTS[0], **mark}, {"type": "input_text", "text": TEXTS[1]}]
    search = {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}}
    output = function_output("c1", parts, id="fco_1", status="completed")
    items = [said("user", "Fix"), reasoning(), search, function_call("c1"), output, said("user", "on")]
    answer = await compacted(items, format="openai_responses")
    changed = {**output, "output": [{"type": "input_text", "text": PREVIEW, **mark}]}
    assert answer["messages"] == [*items[:4], changed, items[5]]


@pytest.mark.parametrize("key", [None, "data"])
async def test_langchain_texts_in_a_list_stay_in_a_list_and_the_artifact_stays_whole(key: str | None) -> None:
    def written(kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": kind, **fields} if key is None else {"type": kind, key: fields}

    call = {"name": "read_file", "args": {}, "id": "c1", "type": "tool_call"}
    result = {"tool_call_id": "c1", "status": "success", "artifact": {"rows": [TEXTS[0]]}}
    messages = [
        written("human", content="Fix"),
        written("ai", content="", tool_calls=[call]),
        written("tool", content=TEXTS, **result),
    ]
    answer = await compacted(messages)
    assert answer["messages"] == [*messages[:2], written("tool", content=[PREVIEW], **result)]
    kept = answer["messages"][2]["data"] if key else answer["messages"][2]
    assert kept["artifact"] is result["artifact"]


async def test_chat_text_parts_stay_parts_and_every_other_field_is_kept() -> None:
    parts = [{"type": "text", "text": text} for text in TEXTS]
    called = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "developer", "content": "Be brief"},
        {"role": "user", "content": "Fix"},
        {"role": "assistant", "content": None, "tool_calls": [called], "reasoning_content": "Where?"},
        {"role": "tool", "tool_call_id": "c1", "content": parts},
    ]
    answer = await compacted(messages)
    assert answer["messages"] == [*messages[:3], {**messages[3], "content": [{"type": "text", "text": PREVIEW}]}]


async def test_results_that_are_no_plain_success_are_kept_by_each_providers_own_rule() -> None:
    messages = [
        said("user", "Fix"),
        said("assistant", tool_use("c1"), tool_use("c2"), tool_use("c3")),
        said("user", tool_result("c1", is_error=True), tool_result("c2", [{"type": "text", "text": "x" * 900}, IMAGE])),
    ]
    answer = await compacted(messages)
    assert rules_by_call(answer) == {"c1": "result_not_success", "c2": "not_text", "c3": "result_missing"}

    items = [
        said("user", "Fix"),
        function_call("c1", status="incomplete"),
        function_output("c1"),
        function_call("c2"),
        function_output("c2", status="incomplete"),
        function_call("c3"),
    ]
    answer = await compacted(items, format="openai_responses")
    assert rules_by_call(answer) == {"c1": "call_not_finished", "c2": "result_not_success", "c3": "result_missing"}

    calls: list[Any] = [
        {"name": "read_file", "args": {}, "id": call_id, "type": "tool_call"} for call_id in ("c1", "c2", "c3")
    ]
    chain: list[dict[str, Any]] = [
        {"type": "human", "content": "Fix"},
        {"type": "ai", "content": "", "tool_calls": calls},
        {"type": "tool", "content": TEXTS[0], "tool_call_id": "c1", "status": "error"},
        {"type": "tool", "content": TEXTS[0], "tool_call_id": "c2"},
    ]
    answer = await compacted(chain)
    assert rules_by_call(answer) == {"c1": "result_not_success", "c2": "preview", "c3": "result_missing"}


async def test_of_several_results_in_one_message_the_needed_ones_stay_the_callers_own() -> None:
    model = ScriptedModel(lambda unit: BinaryAnswer(0.9 if unit["result"].startswith("two") else 0.0))
    results = [tool_result(f"c{n + 1}", long_text(word)) for n, word in enumerate(["one", "two", "three"])]
    calls = said("assistant", *(tool_use(f"c{n}") for n in (1, 2, 3)))
    answer = await compacted([said("user", "Fix"), calls, said("user", *results)], model)
    now = answer["messages"][2]["content"]
    assert [ours is theirs for ours, theirs in zip(now, results, strict=True)] == [False, True, False]
    assert [block["tool_use_id"] for block in now] == ["c1", "c2", "c3"]
    assert now[2]["content"].endswith("[Compacted output. Recover from: archive/c3]")
