"""Histories of Anthropic's Messages API: what is read, and what of a message changes."""

from typing import Any

import pytest
from format_checks import MARKER, check_identity, check_replacements, opened, text_results
from hypothesis import given
from hypothesis import strategies as st
from provider_histories import anthropic_histories, said, thought, tool_result, tool_use

from reme_compact.history.formats.anthropic import AnthropicFormat
from reme_compact.history.formats.protocol import HistoryFormatError
from reme_compact.history.pairs import pair_tool_blocks

FORMAT = AnthropicFormat()


@given(anthropic_histories())
def test_a_history_without_previews_is_its_own(source: list[dict[str, Any]]) -> None:
    check_identity(FORMAT, source)
    assert list(FORMAT.violations(source)) == []
    assert FORMAT.fits(source)


@given(anthropic_histories(), st.data())
def test_only_the_texts_of_replaced_results_change(source: list[dict[str, Any]], data: st.DataObject) -> None:
    places = text_results(opened(FORMAT, source))
    check_replacements(
        FORMAT, source, data.draw(st.lists(st.sampled_from(places), unique=True) if places else st.just([]))
    )


def test_a_call_and_its_result_are_read_as_a_pair() -> None:
    source = [
        said("user", "Fix the retries"),
        {"id": "msg_1", **said("assistant", thought(), {"type": "text", "text": "Let me look"}, tool_use("toolu_1"))},
        said("user", tool_result("toolu_1", "def retry(): ..."), {"type": "text", "text": "Go on"}),
    ]
    assert FORMAT.read(source) == [
        {"role": "user", "content": [{"type": "text", "text": "Fix the retries"}]},
        {
            "role": "assistant",
            "id": "msg_1",
            "content": [
                thought(),
                {"type": "text", "text": "Let me look"},
                {
                    "type": "tool_call",
                    "id": "toolu_1",
                    "name": "read_file",
                    "input": {"path": "a.py"},
                    "state": "finished",
                },
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "id": "toolu_1",
                    "name": "read_file",
                    "output": "def retry(): ...",
                    "state": "success",
                },
                {"type": "text", "text": "Go on"},
            ],
        },
    ]


def test_texts_are_shared_and_not_copied() -> None:
    text = "x" * 5000
    (view,) = FORMAT.read([said("user", tool_result("toolu_1", text))])
    assert view["content"][0]["output"] is text


def _result(content: object, **fields: object) -> dict[str, object]:
    (_, view) = FORMAT.read(
        [said("assistant", tool_use("toolu_1")), said("user", tool_result("toolu_1", content, **fields))]
    )
    block: dict[str, object] = view["content"][0]
    return block


@pytest.mark.parametrize(("is_error", "state"), [(True, "error"), (False, "success")])
def test_is_error_is_an_error(is_error: bool, state: str) -> None:
    assert _result("No such file", is_error=is_error)["state"] == state


def test_a_result_may_have_nothing_to_say() -> None:
    source = [said("assistant", tool_use("toolu_1")), said("user", {"type": "tool_result", "tool_use_id": "toolu_1"})]
    history = opened(FORMAT, source)
    assert text_results(history) == [(1, 0)]
    assert FORMAT.with_output(source[1], 0, "short")["content"][0]["content"] == "short"


@pytest.mark.parametrize("kind", ["image", "document", "search_result", "tool_reference", "browser_state"])
def test_a_result_with_anything_but_text_is_not_text(kind: str) -> None:
    assert _result([{"type": "text", "text": "seen"}, {"type": kind}])["output"] == [
        {"type": "text", "text": "seen"},
        {"type": "data"},
    ]


def test_a_result_in_blocks_stays_in_one_and_the_cache_mark_with_it() -> None:
    mark = {"type": "ephemeral"}
    result = tool_result(
        "toolu_1",
        [{"type": "text", "text": "a", "cache_control": mark}, {"type": "text", "text": "b"}],
        cache_control=mark,
        is_error=False,
    )
    message = said("user", tool_result("toolu_0"), result, {"type": "text", "text": "Go on"})
    changed = FORMAT.with_output(message, 1, f"a\n{MARKER}")
    assert changed["content"][1] == {
        **result,
        "content": [{"type": "text", "text": f"a\n{MARKER}", "cache_control": mark}],
    }
    assert changed["content"][0] is message["content"][0]
    assert changed["content"][2] is message["content"][2]


def test_what_the_provider_runs_is_carried_along_unread() -> None:
    blocks = [
        {"type": "redacted_thinking", "data": "AAAA"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "n", "server_name": "s", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "content": "x" * 900},
        {"type": "container_upload", "file_id": "file_1"},
        {"type": "a_block_of_tomorrow"},
    ]
    (view,) = FORMAT.read([said("assistant", *blocks)])
    assert view["content"] == [{"type": "data"}] * len(blocks)
    pairing = pair_tool_blocks([view])
    assert (pairing.calls, pairing.blocks_without_id, pairing.unknown_types) == ([], 0, [])


def test_a_result_that_goes_to_the_providers_code_is_carried_along_unread() -> None:
    caller = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
    source = [
        said("assistant", tool_use("toolu_1", caller=caller), tool_use("toolu_2", caller={"type": "direct"})),
        said("user", tool_result("toolu_1"), tool_result("toolu_2")),
    ]
    view = FORMAT.read(source)
    assert [[block["type"] for block in message["content"]] for message in view] == [
        ["data", "tool_call"],
        ["data", "tool_result"],
    ]
    assert list(FORMAT.violations(source)) == []


def test_a_reused_id_names_the_tool_of_its_last_call() -> None:
    view = FORMAT.read(
        [
            said("assistant", tool_use("toolu_1", "read_file")),
            said("user", tool_result("toolu_1")),
            said("assistant", tool_use("toolu_1", "search")),
            said("user", tool_result("toolu_1")),
        ]
    )
    assert [view[index]["content"][0]["name"] for index in (1, 3)] == ["read_file", "search"]


def test_a_result_without_a_call_is_named_as_one() -> None:
    assert pair_tool_blocks(FORMAT.read([said("user", tool_result("toolu_9"))])).results_without_call == ["toolu_9"]


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ({"role": "tool", "content": "x"}, "[1].role"),
        ({"role": ["user"], "content": "x"}, "[1].role"),
        ({"content": "x"}, "[1].role"),
        ({"role": "user"}, "[1].content"),
        ({"role": "user", "content": {"type": "text"}}, "[1].content"),
        ({"role": "user", "content": ["x"]}, "[1].content[0]"),
        ({"role": "user", "content": [{"text": "x"}]}, "[1].content[0]"),
        ({"role": "user", "content": [{"type": "text", "text": "x"}, {"type": ["text"]}]}, "[1].content[1]"),
        (said("user", tool_result("toolu_1", {"text": "x"})), "[1].content[0].content"),
    ],
)
def test_what_the_api_does_not_know_is_refused_by_its_place(message: dict[str, Any], path: str) -> None:
    with pytest.raises(HistoryFormatError) as caught:
        FORMAT.read([said("user", "hi"), message])
    assert caught.value.path == path


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
        {"role": "developer", "content": "x"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]},
        {"role": "user", "content": [{"type": "input_text", "text": "x"}]},
        {"type": "function_call", "call_id": "c1", "name": "n", "arguments": "{}"},
        {"role": "assistant", "content": [{"type": "tool_call", "id": "c1", "name": "n", "input": "{}"}]},
        {"role": "assistant", "content": [{"type": "tool_result", "id": "c1", "name": "n", "output": "x"}]},
        {"type": "ai", "data": {"content": "x"}},
        {"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": {"content": "x"}},
        {"role": ["user"], "content": "x"},
        {"role": "user", "content": [{"type": ["text"]}]},
    ],
)
def test_what_only_others_write_does_not_fit(message: dict[str, Any]) -> None:
    assert not FORMAT.fits([said("user", "hi"), message])


def test_an_answer_of_the_api_fits_as_it_came() -> None:
    answer = {"id": "msg_1", "type": "message", "model": "m", "stop_reason": "tool_use", "usage": {"input_tokens": 1}}
    assert FORMAT.fits([said("user", "hi"), {**answer, **said("assistant", tool_use("toolu_1"))}])
