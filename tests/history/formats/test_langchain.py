"""LangChain's serialized messages are read in each of their shapes, and only texts of replaced results change."""

import copy
from typing import Any

import pytest
from chat_histories import answer, calling, chat_call, chats, load_chat, part, recorded_chats
from histories import call, load_history, message, result, text
from hypothesis import given
from hypothesis import strategies as st
from langchain_histories import SHAPES, as_langchain, fields_of, serialized

from reme_compact.contract.messages import check_messages
from reme_compact.history.formats.foreign_draft import ForeignDraft
from reme_compact.history.formats.langchain import LangChainFormat
from reme_compact.history.formats.opening import OpenedHistory
from reme_compact.history.formats.protocol import HistoryFormatError
from reme_compact.history.pairs import pair_tool_blocks

FORMAT = LangChainFormat()
shapes = pytest.mark.parametrize("shape", SHAPES)


def _calling(*calls: dict[str, Any], content: Any = "", **fields: Any) -> dict[str, Any]:
    return serialized("ai", "data", content=content, tool_calls=list(calls), **fields)


def _entry(call_id: Any = "c1", name: Any = "read_file") -> dict[str, Any]:
    return {"name": name, "args": {"path": "a.py"}, "id": call_id, "type": "tool_call"}


def _blocks(source: dict[str, Any]) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = FORMAT.read([source])[0]["content"]
    return content


def _result_indexes(view: list[dict[str, Any]]) -> list[int]:
    return [index for index, item in enumerate(view) if any(b["type"] == "tool_result" for b in item["content"])]


@shapes
def test_a_call_and_its_result(shape: Any) -> None:
    source = as_langchain([{"role": "user", "content": "go"}, calling(chat_call("c1")), answer("c1", "x")], shape)
    assert FORMAT.fits(source)
    assert FORMAT.read(source) == [
        message("user", text("go")),
        message("assistant", text(""), call("c1", tool_input={"path": "a.py"})),
        message("assistant", result("c1", "x")),
    ]


@pytest.mark.parametrize(
    ("kind", "fields", "role"),
    [
        ("human", {}, "user"),
        ("ai", {}, "assistant"),
        ("system", {}, "system"),
        ("chat", {"role": "developer"}, "system"),
        ("chat", {"role": "assistant"}, "assistant"),
        ("chat", {"role": "somebody"}, "user"),
        ("remove", {}, "user"),
    ],
)
@shapes
def test_roles_and_ids(kind: str, fields: dict[str, Any], role: str, shape: Any) -> None:
    source = serialized(kind, shape, content="hello", id="m1", **fields)
    assert FORMAT.fits([source])
    assert FORMAT.read([source]) == [{"role": role, "id": "m1", "content": [text("hello")]}]


@pytest.mark.parametrize("kind", ["HumanMessageChunk", "SystemMessageChunk", "AIMessageChunk", "ToolMessageChunk"])
def test_chunks_are_messages(kind: str) -> None:
    fields = {"content": "x", "tool_call_id": "c1"}
    path = ["langchain", "schema", "messages", kind]
    whole, made = {"type": kind, "data": fields}, {"lc": 1, "type": "constructor", "id": path, "kwargs": fields}
    assert FORMAT.read([whole]) == FORMAT.read([made])
    assert FORMAT.fits([whole, made])


def test_calls_that_a_provider_writes_into_the_content_are_one_with_the_message_s_own() -> None:
    content = [
        "first",
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "reasoning", "reasoning": "so"},
        {"type": "text", "text": "I look", "index": 0},
        {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "a.py"}},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
    ]
    assert _blocks(_calling(_entry(), content=content)) == [
        text("first"),
        {"type": "thinking", "thinking": "hm"},
        {"type": "thinking", "thinking": "so"},
        {"type": "text", "text": "I look", "index": 0},
        {"type": "data"},
        call("c1", tool_input={"path": "a.py"}),
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {"state": "success"}),
        ({"status": "error"}, {"state": "error"}),
        ({"content": ["a", part("b", id="kept")]}, {"output": [text("a"), part("b", id="kept")]}),
        (
            {"content": [part("b"), {"type": "image", "url": "https://localhost"}]},
            {"output": [part("b"), {"type": "data"}]},
        ),
    ],
)
def test_results(fields: dict[str, Any], expected: dict[str, Any]) -> None:
    source = serialized("tool", "data", **{"content": "x", "tool_call_id": "c1", **fields})
    (block,) = FORMAT.read([_calling(_entry()), source])[1]["content"]
    assert block == {**result("c1", "x"), **expected}


def test_a_call_whose_arguments_could_not_be_read_keeps_them_as_they_were_written() -> None:
    invalid = {"name": "read_file", "args": '{"path": ', "id": "c2", "error": "e", "type": "invalid_tool_call"}
    blocks = _blocks(_calling(_entry(), invalid_tool_calls=[invalid]))
    assert blocks[1:] == [call("c1", tool_input={"path": "a.py"}), call("c2", tool_input='{"path": ')]


def test_old_messages_hold_only_the_calls_of_their_provider() -> None:
    extra = {"tool_calls": [chat_call("c1")], "function_call": {"name": "f", "arguments": "{}"}}
    blocks = _blocks(serialized("ai", "data", content="", additional_kwargs=extra))
    assert blocks == [text(""), call(None, "f", "{}"), call("c1")]  # type: ignore[arg-type]
    assert [block.get("id") for block in _blocks(_calling(_entry("c9"), additional_kwargs=extra))] == [None, "c9"]
    answered = serialized("tool", "data", content="x", tool_call_id="c1")
    old = serialized("ai", "data", content="", additional_kwargs=extra)
    assert list(FORMAT.violations([old, answered])) == []
    assert [found.path for found in FORMAT.violations([old])] == ["[0].data.additional_kwargs.tool_calls[0].id"]


def test_a_function_message_answers_by_name_alone_and_is_left_alone() -> None:
    pairing = pair_tool_blocks(FORMAT.read([serialized("function", "data", content="x", name="f")]))
    assert pairing.blocks_without_id == 1


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ({"role": "user", "content": "secret"}, "[0].type"),
        ({"type": "message", "content": "secret"}, "[0].type"),
        ({"lc": 1, "type": "constructor", "id": ["x", "PromptTemplate"], "kwargs": {}}, "[0].id"),
        ({"lc": 1, "type": "constructor", "id": "HumanMessage", "kwargs": {}}, "[0].id"),
        ({"lc": 1, "type": "constructor", "id": ["x", "HumanMessage"]}, "[0].kwargs"),
        ({"type": "human", "data": "secret"}, "[0].data"),
        ({"type": "human"}, "[0].data"),
        ({"type": "human", "data": {"content": 1}}, "[0].data.content"),
        ({"type": "ai", "content": "", "tool_calls": "secret"}, "[0].tool_calls"),
        (_calling("secret"), "[0].data.tool_calls[0]"),  # type: ignore[arg-type]
        (_calling(_entry(call_id=7)), "[0].data.tool_calls[0].id"),
        (_calling(_entry(name=[])), "[0].data.tool_calls[0].name"),
        (serialized("tool", "constructor", content="x", tool_call_id=7), "[0].kwargs.tool_call_id"),
    ],
)
def test_what_is_no_message_is_refused_by_place_and_without_content(source: dict[str, Any], path: str) -> None:
    with pytest.raises(HistoryFormatError) as caught:
        FORMAT.read([source])
    assert caught.value.path == path
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        message("assistant", call("c1"), result("c1", "x")),
        {"role": "user", "content": "x"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]},
        {"type": "message", "role": "user", "content": "x"},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": ["human"], "content": "x"},
    ],
)
def test_what_only_others_write_does_not_fit(source: dict[str, Any]) -> None:
    assert not FORMAT.fits([serialized("human", "data", content="x"), source])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("long", "short"),
        (["a", "b"], ["short"]),
        (["a", part("b", cache_control={"type": "ephemeral"})], [part("short", cache_control={"type": "ephemeral"})]),
        ([], [part("short")]),
    ],
)
@shapes
def test_only_the_text_of_a_result_changes(content: Any, expected: Any, shape: Any) -> None:
    artifact = {"rows": ["long"]}
    source = serialized("tool", shape, content=content, tool_call_id="c1", artifact=artifact, status="success")
    before = copy.deepcopy(source)
    changed = FORMAT.with_output(source, 0, "short")
    assert source == before
    assert fields_of(changed) == {**fields_of(source), "content": expected}
    assert fields_of(changed)["artifact"] is artifact
    assert (list(changed), list(fields_of(changed))) == (list(source), list(fields_of(source)))


@shapes
@given(chats(), st.data())
def test_the_texts_of_any_replaced_results_are_all_that_differs(
    shape: Any, chat: list[dict[str, Any]], data: st.DataObject
) -> None:
    source = as_langchain(chat, shape)
    before = copy.deepcopy(source)
    view = FORMAT.read(source)
    assert check_messages(view) is view
    assert list(FORMAT.violations(source)) == []
    indexes = _result_indexes(view)
    chosen = data.draw(st.lists(st.sampled_from(indexes), unique=True)) if indexes else []
    draft = ForeignDraft(OpenedHistory(FORMAT, source, view))
    for index in chosen:
        draft.replace_output((index, 0), "preview")
    assert source == before
    for index, (now, then) in enumerate(zip(draft.messages, source, strict=True)):
        if index not in chosen:
            assert now is then
        else:
            content = fields_of(now)["content"]
            assert content == "preview" or [item if isinstance(item, str) else item["text"] for item in content] == [
                "preview"
            ]
            assert {**fields_of(now), "content": None} == {**fields_of(then), "content": None}
    assert list(FORMAT.violations(draft.messages)) == []
    for index in chosen:
        draft.restore((index, 0))
    assert draft.messages == source


@shapes
@pytest.mark.parametrize("path", recorded_chats(), ids=lambda path: path.name.removesuffix(".openai.json"))
def test_a_recorded_history(path: Any, shape: Any) -> None:
    source = as_langchain(load_chat(path), shape)
    assert FORMAT.fits(source)
    view = FORMAT.read(source)
    draft = ForeignDraft(OpenedHistory(FORMAT, source, view))
    assert draft.messages == source
    before = list(FORMAT.violations(source))
    assert {violation.rule for violation in before} <= {"every_call_answered"}
    for index in _result_indexes(view):
        draft.replace_output((index, 0), "preview")
    assert list(FORMAT.violations(draft.messages)) == before
    twin = path.with_name(path.name.replace(".openai.", ".agentscope."))
    if twin.exists():
        assert _pairs(view) == _pairs(load_history(twin))


def _pairs(view: list[dict[str, Any]]) -> list[tuple[str, Any, str | None]]:
    return [(found.call_id, found.call.get("name"), found.pairing_rule) for found in pair_tool_blocks(view).calls]
