"""Archive and formats together: what is read back is what the result said, whichever format it came in."""

import json
from typing import Any

import pytest
from archiving import SESSION, claimed, compact_with, decisions_of, memory_archive
from chat_histories import ChatMessage
from histories import long_text
from models import ScriptedModel, always
from provider_histories import function_call, function_output, said, tool_result, tool_use
from written_formats import WRITINGS, chat_of, format_of, request_of, results_in

from reme_compact import BinaryAnswer
from reme_compact.archive.archive import Archive
from reme_compact.archive.recovery_tool import RecoveryTool
from reme_compact.history.formats.registry import FORMATS
from reme_compact.history.preview import is_preview
from reme_compact.history.text import result_text

pytestmark = pytest.mark.anyio
EVERY_WRITING = pytest.mark.parametrize("writing", WRITINGS)


@pytest.fixture
def archive() -> Archive:
    return memory_archive()


def archived(chat: list[ChatMessage], writing: str, **fields: Any) -> dict[str, Any]:
    return request_of(chat, writing, source_refs={}, archive={"session": SESSION.name}, **fields)


def read_back(archive: Archive, reference: str) -> str | None:
    return result_text({"output": archive.original(reference, SESSION)})


@EVERY_WRITING
async def test_what_is_read_back_is_what_the_source_said(archive: Archive, writing: str) -> None:
    request = archived(chat_of(5), writing)
    answer = await compact_with(archive, request)
    texts = results_in(chat_of(5))
    previewed = decisions_of(answer)
    assert {decision["call_id"] for decision in previewed} == set(texts)
    assert {decision["call_id"]: read_back(archive, decision["source_ref"]) for decision in previewed} == texts
    shown = [
        block
        for message in FORMATS[format_of(writing)].read(answer["messages"])
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    tool = RecoveryTool(archive, SESSION.name)
    for block in shown:
        text = result_text(block)
        assert text is not None
        assert is_preview(text)
        assert tool.answer({"ref": text.splitlines()[-1], "max_chars": 5000}) == texts[block["id"]]


@EVERY_WRITING
async def test_references_and_claims_do_not_depend_on_the_format(writing: str) -> None:
    model = ScriptedModel(lambda unit: BinaryAnswer(0.0 if unit["result"].startswith("c1:") else 0.9))
    kept = {}
    for name in ("agentscope", writing):
        archive = memory_archive()
        answer = await compact_with(archive, archived(chat_of(3), name), model)
        (decision,) = decisions_of(answer)
        assert claimed(archive) == ["c1"]
        kept[name] = (decision["source_ref"], read_back(archive, decision["source_ref"]))
    assert kept[writing] == kept["agentscope"]


@pytest.mark.parametrize("name", ["anthropic", "openai_responses", "langchain"])
async def test_results_in_parts_are_read_back_whole(archive: Archive, name: str) -> None:
    texts = [long_text("one"), long_text("zwei grün")]
    sources: dict[str, list[dict[str, Any]]] = {
        "anthropic": [
            said("assistant", tool_use("c1")),
            said("user", tool_result("c1", [{"type": "text", "text": text, "citations": None} for text in texts])),
        ],
        "openai_responses": [
            function_call("c1"),
            function_output("c1", [{"type": "input_text", "text": text} for text in texts]),
        ],
        "langchain": [
            {"type": "ai", "content": "", "tool_calls": [{"name": "read_file", "args": {}, "id": "c1"}]},
            {"type": "tool", "content": texts, "tool_call_id": "c1"},
        ],
    }
    first = {"type": "human", "content": "Fix"} if name == "langchain" else said("user", "Fix")
    request: dict[str, Any] = {
        "messages": [first, *sources[name]],
        "format": name,
        "source_refs": {},
        "archive": {"session": SESSION.name},
        "eligible_tool_names": ["read_file"],
        "options": {"preserve_recent_messages": 0},
    }
    answer = await compact_with(archive, request)
    (decision,) = decisions_of(answer)
    assert read_back(archive, decision["source_ref"]) == "\n".join(texts)
    again = await compact_with(archive, {**request, "messages": answer["messages"]}, always(0.0))
    assert json.dumps(again["messages"]) == json.dumps(answer["messages"])
    assert again["stats"]["requests"] == 0
