"""Reading a body in pieces is reading it: the same values, the same refusals, wherever the pieces end."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.contract import json_pieces, strict_json
from reme_compact.contract.errors import InvalidJSONError
from reme_compact.contract.json_decoder import MAX_DEPTH
from reme_compact.contract.strict_json import parse_json

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
objects = st.dictionaries(st.text(), values, max_size=6)


@pytest.fixture(autouse=True)
def every_body_counts_as_large() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict_json, "LARGE_BYTES", 0)
        yield


def in_windows(size: int, body: bytes) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_pieces, "_WINDOW_BYTES", size)
        return parse_json(body)


@given(objects, st.integers(1, 20), st.booleans(), st.sampled_from([None, 1]))
def test_the_same_value_wherever_windows_end(value: Any, size: int, is_ascii: bool, indent: int | None) -> None:
    body = json.dumps(value, ensure_ascii=is_ascii, indent=indent).encode("utf-8", "surrogatepass")
    assert in_windows(size, body) == value


@given(objects, st.integers(1, 8), st.data())
def test_a_broken_body_is_refused_with_the_same_words(value: Any, size: int, data: st.DataObject) -> None:
    body = json.dumps(value, ensure_ascii=True).encode()
    at = data.draw(st.integers(0, len(body) - 1))
    broken = body[:at] + data.draw(st.sampled_from([b"", b",", b'"', b"}", b"\xff", b"x"])) + body[at + 1 :]
    assert outcome(lambda: in_windows(size, broken)) == outcome(lambda: strict_json.parse_json(as_text(broken)))


def as_text(body: bytes) -> Any:
    """A text is always read as a whole; what is no text is left for the parser to refuse."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidJSONError(f"Not valid UTF-8 at byte {error.start}.") from None


def outcome(parse: Any) -> Any:
    try:
        return parse()
    except InvalidJSONError as error:
        return type(error) if "UTF-8" in error.message else error.message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"a": [{"b": 1, "b": 2}]}', "twice"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": [1e999]}', "too large"),
        (b'{"a": ' + b"1" * 5000 + b"}", "digits"),
        (b'{"a": ' + b"[" * 300 + b"]" * 300 + b"}", "nested"),
        (b'{"a": [' + b"[" * 100_000 + b"]" * 100_000 + b"]}", "nested"),
        (b'{"a": "\xed\xa0\x80"}', "UTF-8"),
        (b'{"a": 1} x', "Extra data"),
        (b'{"a": 1', "delimiter"),
        (b"", "Expecting value"),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_what_is_refused(body: bytes, words: str, size: int) -> None:
    with pytest.raises(InvalidJSONError, match=words):
        in_windows(size, body)


@pytest.mark.parametrize("body", [b"[1, 2]", b'"text"', b"12", b" null "])
def test_what_is_no_object_is_read_as_a_whole(body: bytes) -> None:
    assert in_windows(1, body) == json.loads(body)


@pytest.mark.parametrize(("depth", "is_allowed"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False)])
def test_nesting_is_allowed_as_deep_as_elsewhere(depth: int, is_allowed: bool) -> None:
    body = b'{"a":' * (depth - 1) + b"[]" + b"}" * (depth - 1)
    for read in (lambda: in_windows(5, body), lambda: parse_json(body.decode())):
        assert isinstance(outcome(read), dict) == is_allowed
