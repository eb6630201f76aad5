"""The input of a call is a JSON object, in text or already read; anything else is none."""

import json
from typing import Any

import pytest
from histories import call

from reme_compact.history.tool_input import read_tool_input, tool_input_text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("{}", {}),
        (' {"a": [1, {"b": null}]} ', {"a": [1, {"b": None}]}),
        ('{"a": "\\ud800"}', {"a": "\ud800"}),
        ({"a": 1}, {"a": 1}),
        ({}, {}),
    ],
)
def test_an_object(value: Any, expected: dict[str, Any]) -> None:
    assert read_tool_input(call("c1", tool_input=value)) == expected


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "   ",
        "null",
        "true",
        "3",
        '"text"',
        "[]",
        "[{}]",
        "{",
        "{} {}",
        "{'a': 1}",
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": 1, "a": 1}',
        "\ufeff{}",
        [],
        3,
        False,
    ],
)
def test_anything_else(value: Any) -> None:
    assert read_tool_input(call("c1", tool_input=value)) is None


@pytest.mark.parametrize("value", ['{"a":' * 100_000 + "1" + "}" * 100_000, '{"a": ' + "9" * 5000 + "}"], ids=len)
def test_what_cannot_be_carried_faithfully(value: str) -> None:
    assert read_tool_input(call("c1", tool_input=value)) is None


def test_a_call_without_input() -> None:
    assert read_tool_input({"type": "tool_call", "id": "c1"}) is None


def test_text_is_shown_as_the_model_wrote_it() -> None:
    assert tool_input_text(call("c1", tool_input=' {"a" : 1}\n')) == ' {"a" : 1}\n'


@pytest.mark.parametrize(
    "value", [{"ä": [1, None, "漢"]}, {"a": "\ud800"}, {"a": 2**70}, {"a": {"\udfff": 10**4000}}], ids=ascii
)
def test_an_object_is_shown_as_compact_json(value: dict[str, Any]) -> None:
    assert tool_input_text(call("c1", tool_input=value)) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
