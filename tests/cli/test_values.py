import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.cli.request_keys import Key, Kind
from reme_compact.cli.source import Source
from reme_compact.cli.usage import UsageError
from reme_compact.cli.values import convert, read_value


def key(kind: Kind, *, nullable: bool = False) -> Key:
    return Key(name="k", kind=kind, nullable=nullable)


@pytest.mark.parametrize(
    ("a_key", "text", "value"),
    [
        (key("text"), "123", "123"),
        (key("text"), "null", "null"),
        (key("text"), " {} ", " {} "),
        (key("integer"), "12", 12),
        (key("integer"), " -3\n", -3),
        (key("integer"), "0012", 12),
        (key("integer", nullable=True), "null", None),
        (key("number"), "1", 1.0),
        (key("number"), ".5", 0.5),
        (key("number"), "2e-1", 0.2),
        (key("boolean"), "true", True),
        (key("boolean"), "False", False),
        (key("list"), '["a"]', ["a"]),
        (key("object"), '{"a": null}', {"a": None}),
        (key("any"), "7", 7),
    ],
)
def test_text_is_read_by_the_type_of_its_key(a_key: Key, text: str, value: Any) -> None:
    read = convert("k", a_key, text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("a_key", "text", "named"),
    [
        (key("integer"), "1.5", "whole number"),
        (key("integer"), "true", "whole number"),
        (key("integer"), "null", "whole number"),
        (key("integer"), "", "whole number"),
        (key("integer"), "1_000", "whole number"),
        (key("integer"), "٣", "whole number"),
        (key("integer"), "9" * 5000, "whole number"),
        (key("number"), "inf", "number"),
        (key("number"), "nan", "number"),
        (key("number"), "1e999", "too large"),
        (key("number"), "0,5", "number"),
        (key("boolean"), "yes", "must be true or false"),
        (key("list"), "search_code", """such as '["a","b"]'"""),
        (key("list"), "{}", "JSON list"),
        (key("object"), "[]", "JSON object"),
        (key("object"), '{"a":1,"a":2}', "stands twice"),
        (key("object"), '{"a":NaN}', "NaN"),
        (key("list"), "[" * 100_000, "nested deeper"),
    ],
)
def test_text_of_another_type_is_refused(a_key: Key, text: str, named: str) -> None:
    with pytest.raises(UsageError) as caught:
        convert("options.k", a_key, text)
    assert caught.value.message.startswith("options.k: ")
    assert named in caught.value.message
    assert len(caught.value.message) < 200


@given(st.integers(-(10**30), 10**30))
def test_integers_survive(number: int) -> None:
    assert convert("k", key("integer"), str(number)) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_survive(number: float) -> None:
    assert convert("k", key("number"), repr(number)) == number


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=10,
)


@given(st.lists(json_values))
def test_lists_survive(value: list[Any]) -> None:
    assert convert("k", key("list"), json.dumps(value)) == value


def test_a_file_is_json_for_lists_and_itself_for_text(tmp_path: Path) -> None:
    (tmp_path / "f").write_text('["é"]\n', encoding="utf-8")
    assert read_value("k", key("list"), Source("file", "f")) == ["é"]
    assert read_value("k", key("text"), Source("file", str(tmp_path / "f"))) == '["é"]\n'


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf[1]")
    assert read_value("k", key("list"), Source("file", "f")) == [1]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("größer".encode())))
    assert read_value("k", key("text"), Source("standard_input")) == "größer"


def test_closed_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(UsageError, match="standard input is closed"):
        read_value("k", key("text"), Source("standard_input"))


def test_files_that_cannot_be_read_are_explained(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    for name, named in [
        ("missing", "no file 'missing'"),
        (str(tmp_path), "is a folder"),
        ("latin", "not valid UTF-8"),
        ("", "missing after @"),
        ("latin/x", "cannot be read"),
        ("n\0l", "cannot be read"),
        ("x" * 5000, "cannot be read"),
        ("~nobody-of-this-name/x", "cannot be read"),
    ]:
        with pytest.raises(UsageError) as caught:
            read_value("goal", key("text"), Source("file", name))
        assert caught.value.message.startswith("goal: ")
        assert named in caught.value.message
