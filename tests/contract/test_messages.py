"""The envelope of messages is checked, named by its place when wrong, and never copied."""

from collections import OrderedDict
from typing import Any

import pytest

from reme_compact.contract.messages import check_messages

USER: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "hello"}]}


def _with_field(value: Any) -> list[Any]:
    return [USER, {"role": "assistant", "content": [{"type": "text"}, {"type": "tool_call", "input": value}]}]


def _nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_the_same_objects_come_back(role: str) -> None:
    messages: list[dict[str, Any]] = [
        {"role": role, "content": [{"type": "anything", "more": {"a": [1, 2.5, None, True, "x"]}}], "n": 1}
    ]
    checked = check_messages(messages)
    assert checked is messages
    assert checked[0]["content"][0] is messages[0]["content"][0]


def test_blocks_are_free_in_kind_and_fields() -> None:
    check_messages([{"role": "user", "content": [{}, {"type": 7}, {"type": "future", "x": {}}], "name": "a", "id": 3}])


def test_lone_surrogates_and_large_integers_pass() -> None:
    check_messages(_with_field({"\ud800": "\udfff", "n": [2**64, -(10**4000)]}))


def test_mappings_of_other_kinds_are_objects_too() -> None:
    check_messages([OrderedDict(role="user", content=[OrderedDict(type="text", text="x")])])


@pytest.mark.parametrize(
    ("messages", "path"),
    [
        (None, ""),
        ({"role": "user", "content": []}, ""),
        ("text", ""),
        ((USER,), ""),
        ([], ""),
        ([USER, None], "[1]"),
        ([USER, "text"], "[1]"),
        ([USER, {"content": []}], "[1].role"),
        ([{"role": "tool", "content": []}], "[0].role"),
        ([{"role": "User", "content": []}], "[0].role"),
        ([{"role": ["user"], "content": []}], "[0].role"),
        ([{"role": None, "content": []}], "[0].role"),
        ([{"role": "user"}], "[0].content"),
        ([{"role": "user", "content": "text"}], "[0].content"),
        ([{"role": "user", "content": None}], "[0].content"),
        ([{"role": "user", "content": {"type": "text"}}], "[0].content"),
        ([{"role": "user", "content": [{}, "text"]}], "[0].content[1]"),
        ([{"role": "user", "content": [], 1: "x"}], "[0]"),
        ([{"role": "user", "content": [{1: "x"}]}], "[0].content[0]"),
        (_with_field(float("nan")), "[1].content[1].input"),
        (_with_field({"a": [0, float("inf")]}), "[1].content[1].input.a[1]"),
        (_with_field({"a": {"b": float("-inf")}}), "[1].content[1].input.a.b"),
        (_with_field({1: "x"}), "[1].content[1].input"),
        (_with_field({"a": b"bytes"}), "[1].content[1].input.a"),
        (_with_field((1, 2)), "[1].content[1].input"),
        (_with_field({"a": {1, 2}}), "[1].content[1].input.a"),
        (_with_field(object()), "[1].content[1].input"),
        ([{"role": "user", "content": [], "metadata": {"at": float("nan")}}], "[0].metadata.at"),
        (_with_field([10**5000]), "[1].content[1].input[0]"),
        ([{"role": "user", "content": [], "n": 10**5000}], "[0].n"),
        (_with_field({"a": [-(10**5000)]}), "[1].content[1].input.a[0]"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(messages: Any, path: str) -> None:
    with pytest.raises(ValueError, match=r"^") as caught:
        check_messages(messages)
    found, _, fault = str(caught.value).rpartition(": ")
    assert found == path
    assert fault


def test_an_agentscope_object_is_told_how_to_become_json() -> None:
    class Msg:
        def model_dump(self, mode: str) -> dict[str, Any]:
            raise NotImplementedError(mode)

    with pytest.raises(ValueError, match=r"model_dump\(mode='json'\)"):
        check_messages([Msg()])


def test_nesting_has_a_limit_that_is_named() -> None:
    check_messages(_with_field(_nested(200)))
    with pytest.raises(ValueError, match="200 levels"):
        check_messages(_with_field(_nested(201)))
    with pytest.raises(ValueError, match="nested too deeply"):
        check_messages(_with_field(_nested(100_000)))


def test_a_history_that_refers_to_itself_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    with pytest.raises(ValueError, match="nested too deeply"):
        check_messages(_with_field(endless))


@pytest.mark.parametrize("wrong", [{"a": float("nan")}, b"secret words", [10**5000]])
def test_no_fault_quotes_content(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"^") as caught:
        check_messages([{"role": "user", "content": [{"type": "text", "text": "secret words", "x": wrong}]}])
    assert "secret" not in str(caught.value)
