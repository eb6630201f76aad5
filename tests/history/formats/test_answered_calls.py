"""Calls that are answered in messages of their own are answered once each, directly after, and nothing else is."""

from typing import Any

import pytest
from chat_histories import answer, calling, chat_call, chats
from hypothesis import given
from hypothesis import strategies as st
from langchain_histories import SHAPES, as_langchain, serialized

from reme_compact.history.formats.langchain import LangChainFormat
from reme_compact.history.formats.openai_chat import OpenAIChatFormat

CHAT = OpenAIChatFormat()
USER = {"role": "user", "content": "go"}
PARALLEL = calling(chat_call("c1"), chat_call("c2"))


def _broken(*messages: dict[str, Any]) -> list[tuple[str, str]]:
    return [(violation.rule, violation.path) for violation in CHAT.violations(messages)]


@pytest.mark.parametrize(
    "messages",
    [
        [USER, PARALLEL, answer("c2", "b"), answer("c1", "a"), USER],
        [calling(chat_call("c1")), answer("c1", "a"), calling(chat_call("c1")), answer("c1", "b")],
        [{"role": "assistant", "content": "x", "tool_calls": None}, USER],
        [{**USER, "tool_calls": "calls are the assistant's alone, whatever else stands there"}],
    ],
)
def test_what_the_api_accepts(messages: list[dict[str, Any]]) -> None:
    assert _broken(*messages) == []


@pytest.mark.parametrize(
    ("messages", "broken"),
    [
        ([PARALLEL, answer("c1", "a")], [("every_call_answered", "[0].tool_calls[1].id")]),
        (
            [PARALLEL, answer("c1", "a"), USER, answer("c2", "b")],
            [("every_call_answered", "[0].tool_calls[1].id"), ("result_after_call", "[3].tool_call_id")],
        ),
        ([answer("c1", "a")], [("result_after_call", "[0].tool_call_id")]),
        (
            [calling(chat_call("c1")), answer("c1", "a"), answer("c1", "b")],
            [("call_answered_once", "[2].tool_call_id")],
        ),
        (
            [calling(chat_call("c1"), chat_call("c1")), answer("c1", "a")],
            [("unique_call_ids", "[0].tool_calls[1].id")],
        ),
        (
            [calling(chat_call(None)), answer(None, "a")],
            [("every_call_answered", "[0].tool_calls[0].id"), ("result_after_call", "[1].tool_call_id")],
        ),
        (
            [calling(chat_call(None), chat_call(None))],
            [("every_call_answered", "[0].tool_calls[0].id"), ("every_call_answered", "[0].tool_calls[1].id")],
        ),
        ([calling(chat_call("c1")), answer("c1", ["bare"])], [("result_is_text", "[1].content")]),
        (
            [calling(chat_call("c1")), answer("c1", [{"type": "image_url", "image_url": {"url": "x"}}])],
            [("result_is_text", "[1].content")],
        ),
        ([calling(chat_call("c1")), answer("c1", None)], [("result_is_text", "[1].content")]),
        (
            [calling(chat_call("c1")), {"role": "function", "name": "f", "content": "x"}, answer("c1", "a")],
            [("every_call_answered", "[0].tool_calls[0].id"), ("result_after_call", "[2].tool_call_id")],
        ),
    ],
)
def test_what_the_api_refuses(messages: list[dict[str, Any]], broken: list[tuple[str, str]]) -> None:
    assert _broken(*messages) == broken


@given(chats(), st.data())
def test_a_history_without_one_of_its_results_is_refused(source: list[dict[str, Any]], data: st.DataObject) -> None:
    answers = [index for index, message in enumerate(source) if message["role"] == "tool"]
    if not answers:
        return
    missing = data.draw(st.sampled_from(answers))
    left = [message for index, message in enumerate(source) if index != missing]
    assert [rule for rule, _ in _broken(*left)] == ["every_call_answered"]


@pytest.mark.parametrize("shape", SHAPES)
def test_langchain_demands_the_same_in_any_shape(shape: Any) -> None:
    langchain = LangChainFormat()
    source = as_langchain([PARALLEL, answer("c1", "a"), USER, answer("c2", "b")], shape)
    inside = {"data": ".data", "constructor": ".kwargs", "fields": ""}[shape]
    assert [(violation.rule, violation.path) for violation in langchain.violations(source)] == [
        ("every_call_answered", f"[0]{inside}.tool_calls[1].id"),
        ("result_after_call", f"[3]{inside}.tool_call_id"),
    ]


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_call_that_could_not_be_read_may_be_answered(is_answered: bool) -> None:
    invalid = [{"name": "f", "args": "{bad", "id": "c1", "error": None, "type": "invalid_tool_call"}]
    source = [serialized("ai", "data", content="", tool_calls=[], invalid_tool_calls=invalid)]
    if is_answered:
        source.append(serialized("tool", "data", content="not JSON", tool_call_id="c1", status="error"))
    assert list(LangChainFormat().violations(source)) == []
