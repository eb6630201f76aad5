"""Chat Completions messages are read as they are meant, and only the texts of replaced results change."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from chat_histories import answer, calling, chat_call, chats, custom_call, load_chat, part, recorded_chats
from histories import call, load_history, message, result, text
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter, ValidationError

from reme_compact.contract.messages import check_messages
from reme_compact.contract.request import CompactionRequest
from reme_compact.history.formats.foreign_draft import ForeignDraft
from reme_compact.history.formats.openai_chat import OpenAIChatFormat
from reme_compact.history.formats.opening import OpenedHistory
from reme_compact.history.formats.protocol import HistoryFormatError
from reme_compact.history.pairs import Location, pair_tool_blocks
from reme_compact.history.protection import ProtectionRules

FORMAT = OpenAIChatFormat()
SDK: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam])
IMAGE: dict[str, Any] = {"type": "image_url", "image_url": {"url": "https://localhost/a.png"}}


def _sdk_accepts(messages: list[dict[str, Any]]) -> None:
    """Validate a history by the SDK's types, which look into a list of parts or calls only as it is read."""
    unread: list[Any] = list(SDK.validate_python(messages))
    while unread:
        value = unread.pop()
        if isinstance(value, dict):
            unread.extend(value.values())
        elif isinstance(value, Iterator):
            unread.extend(value)


def _view(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    return FORMAT.read(list(messages))


def _blocks(source: dict[str, Any]) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = _view(source)[0]["content"]
    return content


def _results(view: list[dict[str, Any]]) -> list[Location]:
    return [
        (index, place)
        for index, item in enumerate(view)
        for place, block in enumerate(item["content"])
        if block["type"] == "tool_result"
    ]


def test_a_call_and_its_result() -> None:
    assert _view(calling(chat_call("c1"), content="I look"), answer("c1", "print(1)")) == [
        message("assistant", text("I look"), call("c1")),
        message("assistant", result("c1", "print(1)")),
    ]


@pytest.mark.parametrize(
    ("role", "expected"),
    [("user", "user"), ("assistant", "assistant"), ("system", "system"), ("developer", "system")],
)
def test_roles_and_texts(role: str, expected: str) -> None:
    assert _view({"role": role, "content": "hello", "id": "m1", "name": "Ann"}) == [
        {"role": expected, "id": "m1", "content": [text("hello")]}
    ]


@pytest.mark.parametrize("source", [{"role": "assistant", "content": None}, {"role": "assistant"}])
def test_no_content(source: dict[str, Any]) -> None:
    assert _blocks(source) == []


def test_parts_are_shared_with_the_source_and_images_are_data() -> None:
    words = part("look at this", prompt_cache_breakpoint={"mode": "explicit"})
    audio = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
    blocks = _blocks({"role": "user", "content": [words, IMAGE, audio, {"type": "file", "file": {"file_id": "f"}}]})
    assert blocks[0] is words
    assert blocks[1:] == [{"type": "data"}] * 3


def test_what_an_assistant_says_beside_its_content() -> None:
    refused = {"role": "assistant", "content": None, "refusal": "I will not", "audio": {"id": "a1"}}
    assert _blocks(refused) == [text("I will not"), {"type": "data"}]
    assert _blocks({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}) == [text("no")]
    thought = {"role": "assistant", "content": "so", "reasoning_content": "hm", "refusal": None, "tool_calls": None}
    assert _blocks(thought) == [text("so"), {"type": "thinking", "thinking": "hm"}]


def test_a_custom_tool_is_called_with_a_text() -> None:
    view = _view(calling(custom_call("c1", "shell", "ls -l")), answer("c1", "a.py"))
    assert view == [
        message("assistant", call("c1", "shell", {"input": "ls -l"})),
        message("assistant", result("c1", "a.py", "shell")),
    ]


def test_a_call_without_a_type_is_one_of_a_function() -> None:
    untyped = {key: value for key, value in chat_call("c1").items() if key != "type"}
    assert _blocks(calling(untyped)) == [call("c1")]


def test_a_function_call_has_no_id_so_that_nothing_can_be_its_result() -> None:
    called = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    pairing = pair_tool_blocks(_view(called, {"role": "function", "name": "f", "content": "long ago"}))
    assert (pairing.calls, pairing.blocks_without_id) == ([], 2)


def test_a_result_has_the_name_of_the_last_call_with_its_id() -> None:
    view = _view(
        calling(chat_call("c1", "search")), answer("c1", "a"), calling(chat_call("c1", "shell")), answer("c1", "b")
    )
    assert [view[1]["content"][0]["name"], view[3]["content"][0]["name"]] == ["search", "shell"]


def _rule(*messages: dict[str, Any]) -> str:
    """Return what keeps the only pair of a history."""
    first = {"role": "user", "content": "go"}
    values: dict[str, Any] = {"messages": [first, *messages], "eligible_tool_names": ["read_file"]}
    request = CompactionRequest.parse(
        {**values, "format": "openai_chat", "source_refs": {"c1": "ref"}, "options": {"preserve_recent_messages": 0}}
    )
    view = FORMAT.read(request.messages)
    calls = pair_tool_blocks(view).calls
    (only,) = calls
    found = ProtectionRules(request.model_copy(update={"messages": view}), calls).check(only)
    return found if isinstance(found, str) else f"candidate: {found.text}"


@pytest.mark.parametrize(
    ("messages", "rule"),
    [
        ([calling(chat_call("c1")), answer("c1", "long")], "candidate: long"),
        ([calling(chat_call("c1")), answer("c1", [part("a"), part("b")])], "candidate: a\nb"),
        ([calling(chat_call("c1"))], "result_missing"),
        ([answer("c1", "early"), calling(chat_call("c1"))], "result_missing"),
        ([calling(chat_call("c1")), answer("c1", "a"), answer("c1", "b")], "ambiguous_id"),
        ([calling(chat_call("c1")), answer("c1", [part("a"), IMAGE])], "not_text"),
        ([calling(chat_call("c1")), answer("c1", None)], "not_text"),
        ([calling(chat_call("c1", arguments='{"path": ')), answer("c1", "long")], "invalid_input"),
    ],
)
def test_how_a_pair_is_seen(messages: list[dict[str, Any]], rule: str) -> None:
    assert _rule(*messages) == rule


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ({"content": "x"}, "[0].role"),
        ({"role": "human", "content": "x"}, "[0].role"),
        ({"role": ["user"], "content": "x"}, "[0].role"),
        ({"role": "user", "content": {"text": "secret"}}, "[0].content"),
        ({"role": "user", "content": [1]}, "[0].content[0]"),
        ({"role": "tool", "tool_call_id": 7, "content": "secret"}, "[0].tool_call_id"),
        ({"role": "tool", "tool_call_id": "c1", "content": 7}, "[0].content"),
        ({"role": "assistant", "tool_calls": {"secret": 1}}, "[0].tool_calls"),
        ({"role": "assistant", "tool_calls": ["secret"]}, "[0].tool_calls[0]"),
        (calling(chat_call(7)), "[0].tool_calls[0].id"),
        (calling({"id": "c1", "type": ["function"]}), "[0].tool_calls[0].type"),
        (calling({"id": "c1", "type": "function"}), "[0].tool_calls[0].function"),
        (calling({"id": "c1", "type": "custom", "custom": {"name": 1}}), "[0].tool_calls[0].custom.name"),
        ({"role": "assistant", "function_call": "secret"}, "[0].function_call"),
    ],
)
def test_what_is_no_message_is_refused_by_place_and_without_content(source: dict[str, Any], path: str) -> None:
    with pytest.raises(HistoryFormatError) as caught:
        _view(source)
    assert caught.value.path == path
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("long", "short"),
        ([part("long", cache_control={"type": "ephemeral"})], [part("short", cache_control={"type": "ephemeral"})]),
        ([part("a", x=1), part("b", y=2)], [part("short", x=1, y=2)]),
        ([], [part("short")]),
    ],
)
def test_only_the_text_of_a_result_changes(content: Any, expected: Any) -> None:
    source = answer("c1", content, name="read_file", extra={"kept": [1]})
    before = copy.deepcopy(source)
    changed = FORMAT.with_output(source, 0, "short")
    assert source == before
    assert changed == {**source, "content": expected}
    assert list(changed) == list(source)
    assert changed["extra"] is source["extra"]


@pytest.mark.parametrize("source", [answer("c1", [IMAGE]), calling({"id": "c1"}), {"role": "user", "content": [{}]}])
def test_the_sdk_s_types_refuse_what_is_wrong_inside(source: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        _sdk_accepts([source])


def test_a_history_of_each_oddity_fits() -> None:
    source: list[dict[str, Any]] = [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [part("look"), IMAGE]},
        calling(chat_call("c1"), custom_call("c2"), refusal=None, audio=None),
        answer("c1", "a"),
        answer("c2", [part("b")]),
        {"role": "function", "name": "f", "content": None},
    ]
    _sdk_accepts(source)
    assert FORMAT.fits(source)


@pytest.mark.parametrize(
    "source",
    [
        message("assistant", call("c1"), result("c1", "x")),
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}]},
        {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://localhost"}}]},
        {"role": "user", "content": [{"type": "input_text", "text": "x"}]},
        {"type": "message", "role": "user", "content": "x"},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "human", "data": {"content": "x"}},
        {"lc": 1, "type": "constructor", "id": ["langchain", "HumanMessage"], "kwargs": {"content": "x"}},
        {"type": "chat", "role": "user", "content": "x"},
        {"role": "user", "content": ["x"]},
        {"role": {}, "content": "x"},
    ],
)
def test_what_only_others_write_does_not_fit(source: dict[str, Any]) -> None:
    assert not FORMAT.fits([{"role": "user", "content": "x"}, source])


@given(chats())
def test_a_valid_history_is_accepted_by_the_sdk_fits_and_breaks_no_rule(source: list[dict[str, Any]]) -> None:
    _sdk_accepts(source)
    assert FORMAT.fits(source)
    assert list(FORMAT.violations(source)) == []
    view = FORMAT.read(source)
    assert check_messages(view) is view
    assert len(view) == len(source)


@given(chats(), st.data())
def test_the_texts_of_any_replaced_results_are_all_that_differs(
    source: list[dict[str, Any]], data: st.DataObject
) -> None:
    before = copy.deepcopy(source)
    view = FORMAT.read(source)
    places = _results(view)
    chosen = data.draw(st.lists(st.sampled_from(places), unique=True)) if places else []
    draft = ForeignDraft(OpenedHistory(FORMAT, source, view))
    for at in chosen:
        draft.replace_output(at, f"preview of {at}")
    assert source == before
    replaced = {index for index, _ in chosen}
    for index, (now, then) in enumerate(zip(draft.messages, source, strict=True)):
        if index not in replaced:
            assert now is then
        else:
            assert {**now, "content": None} == {**then, "content": None}
            assert type(now["content"]) is type(then["content"])
    again = FORMAT.read(draft.messages)
    for index, place in places:
        if index in replaced:
            expected = f"preview of {(index, place)}"
            output = again[index]["content"][place]["output"]
            assert output == expected or [block["text"] for block in output] == [expected]
    _sdk_accepts(draft.messages)
    assert list(FORMAT.violations(draft.messages)) == []
    for at in chosen:
        draft.restore(at)
    assert draft.messages == source


@pytest.mark.parametrize("path", recorded_chats(), ids=lambda path: path.name.removesuffix(".openai.json"))
def test_a_recorded_history(path: Any) -> None:
    source = load_chat(path)
    _sdk_accepts(source)
    assert FORMAT.fits(source)
    view = FORMAT.read(source)
    unanswered = {name for item in source for name in _ids(item)} - {item.get("tool_call_id") for item in source}
    assert [violation.rule for violation in FORMAT.violations(source)] == ["every_call_answered"] * len(unanswered)
    draft = ForeignDraft(OpenedHistory(FORMAT, source, view))
    assert draft.messages == source
    for at in _results(view):
        draft.replace_output(at, "preview")
    _sdk_accepts(draft.messages)
    assert list(FORMAT.violations(draft.messages)) == list(FORMAT.violations(source))
    twin = path.with_name(path.name.replace(".openai.", ".agentscope."))
    if twin.exists():
        assert _pairs(view) == _pairs(load_history(twin))


def _ids(source: dict[str, Any]) -> list[str]:
    return [called["id"] for called in source.get("tool_calls") or ()]


def _pairs(view: list[dict[str, Any]]) -> list[tuple[str, Any, str | None]]:
    return [(found.call_id, found.call.get("name"), found.pairing_rule) for found in pair_tool_blocks(view).calls]
