"""LangChain reads its messages back from a proposal, and they equal the ones that went in but for replaced texts."""

import json
from typing import Any

import pytest
from chat_histories import load_chat, part, recorded_chats
from langchain_histories import SHAPES, fields_of
from pydantic import TypeAdapter

from reme_compact.history.formats.foreign_draft import ForeignDraft
from reme_compact.history.formats.langchain import LangChainFormat
from reme_compact.history.formats.openai_chat import OpenAIChatFormat
from reme_compact.history.formats.opening import OpenedHistory
from reme_compact.history.pairs import pair_tool_blocks

lc: Any = pytest.importorskip("langchain_core.messages")
lc_load: Any = pytest.importorskip("langchain_core.load")

FORMAT = LangChainFormat()

pytestmark = pytest.mark.filterwarnings(r"ignore:The function `loads?` is in beta")


def _written(messages: list[Any], shape: str) -> list[dict[str, Any]]:
    written: Any
    if shape == "data":
        written = lc.messages_to_dict(messages)
    elif shape == "constructor":
        written = json.loads(lc_load.dumps(messages))
    else:
        written = [message.model_dump() for message in messages]
    return list(written)


def _read_back(messages: list[dict[str, Any]], shape: str) -> list[Any]:
    if shape == "data":
        return list(lc.messages_from_dict(messages))
    if shape == "constructor":
        return list(lc_load.load(messages, allowed_objects="core"))
    return list(TypeAdapter(list[lc.AnyMessage]).validate_python(messages))


def _messages() -> list[Any]:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    called = {"type": "tool_use", "id": "c1", "name": "f", "input": {"lc": 1}}
    return [
        lc.SystemMessage("be brief"),
        lc.HumanMessage([part("look"), {"type": "image", "url": "https://localhost/a.png"}], id="h1"),
        lc.AIMessage(
            content=[thought, part("I look"), called],
            tool_calls=[{"name": "f", "args": {"lc": 1}, "id": "c1"}, {"name": "g", "args": {}, "id": "c2"}],
            invalid_tool_calls=[{"name": "g", "args": "{bad", "id": "c3", "error": "not JSON"}],
            usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        ),
        lc.ToolMessage("a long text", tool_call_id="c1", name="f", artifact={"rows": [1]}),
        lc.ToolMessage(["a", part("b")], tool_call_id="c2", status="error"),
        lc.AIMessage("done", response_metadata={"model_name": "m"}),
        lc.AIMessageChunk(
            content="", tool_call_chunks=[{"name": "f", "args": "{}", "id": "c4", "index": 0}], chunk_position="last"
        ),
        lc.ToolMessageChunk(content="in pieces", tool_call_id="c4"),
        lc.ChatMessage(role="developer", content="be kind"),
        lc.FunctionMessage(name="f", content="long ago"),
        lc.HumanMessageChunk("go on"),
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_messages_that_went_through_equal_what_they_were(shape: str) -> None:
    messages = _messages()
    source = _written(messages, shape)
    assert FORMAT.fits(source)
    draft = ForeignDraft(OpenedHistory(FORMAT, source, FORMAT.read(source)))
    assert _read_back(draft.messages, shape) == messages
    assert list(FORMAT.violations(source)) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_only_the_content_of_replaced_results_differs(shape: str) -> None:
    messages = _messages()
    source = _written(messages, shape)
    view = FORMAT.read(source)
    draft = ForeignDraft(OpenedHistory(FORMAT, source, view))
    results = [index for index, message in enumerate(messages) if isinstance(message, lc.ToolMessage)]
    for index in results:
        draft.replace_output((index, 0), "short")
    expected = [
        message.model_copy(update={"content": fields_of(changed)["content"]}) if index in results else message
        for index, (message, changed) in enumerate(zip(messages, draft.messages, strict=True))
    ]
    read_back = _read_back(draft.messages, shape)
    assert read_back == expected
    assert [read_back[index].text for index in results] == ["short"] * len(results)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_langchain_finds_in_a_message_is_what_the_view_shows(shape: str) -> None:
    old = {"tool_calls": [{"id": "c9", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}]}
    source = [{"type": "ai", "data": {"content": "", "additional_kwargs": old}}, *_written(_messages(), shape)]
    found = lc.messages_from_dict(source[:1]) + _read_back(source[1:], shape)
    calls = [call for message in found if isinstance(message, lc.AIMessage) for call in message.tool_calls]
    seen = [block for item in FORMAT.read(source) for block in item["content"] if block["type"] == "tool_call"]
    in_view = [(block["id"], block["name"]) for block in seen if block["id"] != "c3"]
    assert in_view == [(call["id"], call["name"]) for call in calls]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("path", recorded_chats(), ids=lambda path: path.name.removesuffix(".openai.json"))
def test_a_recorded_history_that_langchain_converted(path: Any, shape: str) -> None:
    chat = load_chat(path)
    messages = lc.convert_to_messages(chat)
    source = _written(messages, shape)
    view = FORMAT.read(source)
    draft = ForeignDraft(OpenedHistory(FORMAT, source, view))
    assert _read_back(draft.messages, shape) == messages
    chat_calls = pair_tool_blocks(OpenAIChatFormat().read(chat)).calls
    calls = pair_tool_blocks(view).calls
    assert [(c.call_id, c.pairing_rule) for c in calls] == [(c.call_id, c.pairing_rule) for c in chat_calls]
    for call in calls:
        if call.result_at is not None:
            draft.replace_output(call.result_at, "preview")
    sent = lc.convert_to_openai_messages(_read_back(draft.messages, shape))
    before = lc.convert_to_openai_messages(messages)
    assert [message["content"] for message in sent if message["role"] == "tool"].count("preview") == sum(
        call.result_at is not None for call in calls
    )
    assert [m for m in sent if m["role"] != "tool"] == [m for m in before if m["role"] != "tool"]
    assert list(OpenAIChatFormat().violations(sent)) == list(OpenAIChatFormat().violations(before))
