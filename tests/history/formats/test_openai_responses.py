"""Item lists of OpenAI's Responses API: what is read, and what of an item changes."""

from typing import Any

import pytest
from format_checks import MARKER, check_identity, check_replacements, opened, text_results
from hypothesis import given
from hypothesis import strategies as st
from provider_histories import function_call, function_output, reasoning, responses_histories

from reme_compact.history.formats.openai_responses import OpenAIResponsesFormat
from reme_compact.history.formats.protocol import HistoryFormatError
from reme_compact.history.pairs import pair_tool_blocks
from reme_compact.history.tool_input import read_tool_input

FORMAT = OpenAIResponsesFormat()
ASKED = {"role": "user", "content": "Fix the retries"}


@given(responses_histories())
def test_a_history_without_previews_is_its_own(source: list[dict[str, Any]]) -> None:
    check_identity(FORMAT, source)
    assert list(FORMAT.violations(source)) == []
    assert FORMAT.fits(source)


@given(responses_histories(), st.data())
def test_only_the_texts_of_replaced_outputs_change(source: list[dict[str, Any]], data: st.DataObject) -> None:
    places = text_results(opened(FORMAT, source))
    check_replacements(
        FORMAT, source, data.draw(st.lists(st.sampled_from(places), unique=True) if places else st.just([]))
    )


def test_a_call_and_its_output_are_read_as_a_pair() -> None:
    source: list[dict[str, Any]] = [
        {"role": "developer", "content": "Be brief"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix the retries"}]},
        reasoning(),
        function_call("call_1", id="fc_1", status="completed"),
        function_output("call_1", "def retry(): ..."),
    ]
    assert FORMAT.read(source) == [
        {"role": "system", "content": [{"type": "text", "text": "Be brief"}]},
        {"role": "user", "content": [{"type": "text", "text": "Fix the retries"}]},
        {"role": "assistant", "id": "rs_1", "content": [{"type": "thinking"}]},
        {
            "role": "assistant",
            "id": "fc_1",
            "content": [
                {
                    "type": "tool_call",
                    "id": "call_1",
                    "name": "read_file",
                    "input": '{"path": "a.py"}',
                    "state": "finished",
                }
            ],
        },
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool_result",
                    "id": "call_1",
                    "name": "read_file",
                    "output": "def retry(): ...",
                    "state": "success",
                }
            ],
        },
    ]


def test_what_the_model_said_and_would_not_say_is_text() -> None:
    parts = [
        {"type": "output_text", "text": "Done", "annotations": []},
        {"type": "refusal", "refusal": "No"},
        {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"},
    ]
    (view,) = FORMAT.read([{"type": "message", "role": "assistant", "content": parts}])
    assert view["content"] == [{"type": "text", "text": "Done"}, {"type": "text", "text": "No"}, {"type": "data"}]


def test_texts_are_shared_and_not_copied() -> None:
    text = "x" * 5000
    (view,) = FORMAT.read([function_output("call_1", text)])
    assert view["content"][0]["output"] is text


@pytest.mark.parametrize(
    ("status", "call_state", "output_state"),
    [
        (None, "finished", "success"),
        ("completed", "finished", "success"),
        ("in_progress", "in_progress", "in_progress"),
        ("incomplete", "incomplete", "incomplete"),
    ],
)
def test_a_status_other_than_completed_is_the_state(status: str | None, call_state: str, output_state: str) -> None:
    view = FORMAT.read([function_call("call_1", status=status), function_output("call_1", status=status)])
    assert [message["content"][0]["state"] for message in view] == [call_state, output_state]


def test_the_input_of_a_custom_tool_is_what_it_is() -> None:
    patch = "*** Begin Patch\n*** End Patch"
    source = [
        {"type": "custom_tool_call", "call_id": "call_1", "name": "apply_patch", "input": patch},
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "Done"},
    ]
    (call,) = pair_tool_blocks(FORMAT.read(source)).calls
    assert call.pairing_rule is None
    assert call.result is not None
    assert call.result["name"] == "apply_patch"
    assert read_tool_input(call.call) == {"input": patch}


def test_an_output_with_anything_but_text_is_not_text() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    (view,) = FORMAT.read([function_output("call_1", [{"type": "input_text", "text": "seen"}, image])])
    assert view["content"][0]["output"] == [{"type": "text", "text": "seen"}, {"type": "data"}]


@pytest.mark.parametrize("output", [None, 3, {"text": "x"}])
def test_an_output_of_no_known_kind_is_not_text(output: object) -> None:
    assert text_results(opened(FORMAT, [function_output("call_1", output)])) == []


def test_an_output_in_parts_stays_in_one_and_the_cache_mark_with_it() -> None:
    mark = {"mode": "explicit"}
    parts = [{"type": "input_text", "text": "a", "prompt_cache_breakpoint": mark}, {"type": "input_text", "text": "b"}]
    item = function_output("call_1", parts, id="fco_1", status="completed")
    text = f"a\n{MARKER}"
    assert FORMAT.with_output(item, 0, text) == {
        **item,
        "output": [{"type": "input_text", "text": text, "prompt_cache_breakpoint": mark}],
    }
    assert FORMAT.with_output(function_output("call_1", []), 0, text)["output"] == text


@pytest.mark.parametrize(
    "item",
    [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {}},
        {"type": "file_search_call", "id": "fs_1", "status": "completed", "queries": []},
        {"type": "computer_call", "id": "cu_1", "call_id": "call_1", "action": {}},
        {"type": "computer_call_output", "call_id": "call_1", "output": {"type": "computer_screenshot"}},
        {"type": "code_interpreter_call", "id": "ci_1", "code": "1", "outputs": []},
        {"type": "image_generation_call", "id": "ig_1", "result": "AAAA"},
        {"type": "local_shell_call", "id": "ls_1", "call_id": "call_1", "action": {}},
        {"type": "local_shell_call_output", "id": "call_1", "output": "x" * 900},
        {"type": "shell_call", "call_id": "call_1", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "call_1", "output": []},
        {"type": "apply_patch_call", "call_id": "call_1", "operation": {}},
        {"type": "apply_patch_call_output", "call_id": "call_1", "output": "x" * 900},
        {"type": "mcp_list_tools", "id": "mcpl_1", "tools": []},
        {"type": "mcp_call", "id": "mcp_1", "name": "n", "arguments": "{}", "output": "x" * 900},
        {"type": "mcp_approval_request", "id": "mcpr_1", "name": "n", "arguments": "{}"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
        {"type": "compaction", "encrypted_content": "AAAA"},
        {"type": "item_reference", "id": "rs_1"},
        {"type": None, "id": "rs_1"},
        {"id": "rs_1"},
        {"type": "function_call_output", "call_id": None, "name": "n", "output": "x" * 900},
        function_call("call_1", caller={"type": "program", "caller_id": "p_1"}),
        function_output("call_1", caller={"type": "program", "caller_id": "p_1"}),
        {"type": "call_of_tomorrow_call", "id": "x_1"},
    ],
)
def test_what_else_stands_in_a_list_is_carried_along_unread(item: dict[str, Any]) -> None:
    view = FORMAT.read([ASKED, item])
    assert (view[1]["role"], view[1]["content"]) == ("assistant", [{"type": "data"}])
    assert FORMAT.fits([ASKED, item])


def test_a_reused_id_names_the_tool_of_its_last_call() -> None:
    first, second = function_call("call_1", "read_file"), function_call("call_1", "search")
    view = FORMAT.read([first, function_output("call_1"), second, function_output("call_1")])
    assert [view[index]["content"][0]["name"] for index in (1, 3)] == ["read_file", "search"]


@pytest.mark.parametrize(
    ("item", "path"),
    [
        ({"content": "x"}, "[1]"),
        ({"type": ["message"], "content": "x"}, "[1]"),
        ({"role": "tool", "content": "x"}, "[1].role"),
        ({"role": ["user"], "content": "x"}, "[1].role"),
        ({"type": "message", "content": "x"}, "[1].role"),
        ({"role": "assistant", "content": None}, "[1].content"),
        ({"role": "user", "content": ["x"]}, "[1].content[0]"),
    ],
)
def test_what_the_api_does_not_know_is_refused_by_its_place(item: dict[str, Any], path: str) -> None:
    with pytest.raises(HistoryFormatError) as caught:
        FORMAT.read([ASKED, item])
    assert caught.value.path == path


@pytest.mark.parametrize(
    "item",
    [
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": "x", "tool_calls": []},
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
        {"role": "user", "content": [{"type": "text", "text": "x"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]},
        {"role": "assistant", "content": [{"type": "tool_call", "id": "c1", "name": "n", "input": "{}"}]},
        {"type": "ai", "data": {"content": "x"}},
        {"type": "tool", "data": {"content": "x", "tool_call_id": "c1"}},
        {"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": {"content": "x"}},
        {"type": ["message"], "role": "user", "content": "x"},
        {"role": ["user"], "content": "x"},
        {"role": "user", "content": [{"type": ["input_text"]}]},
    ],
)
def test_what_only_others_write_does_not_fit(item: dict[str, Any]) -> None:
    assert not FORMAT.fits([ASKED, item])
