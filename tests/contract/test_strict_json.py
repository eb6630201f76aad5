"""JSON is read so that nothing changes on the way in, or it is refused in words."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.contract.errors import InvalidJSONError
from reme_compact.contract.json_decoder import MAX_DEPTH
from reme_compact.contract.strict_json import parse_json

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def _refusal(text: str | bytes) -> str:
    with pytest.raises(InvalidJSONError) as caught:
        parse_json(text)
    return caught.value.message


@given(_VALUES, st.booleans())
def test_what_was_written_is_read(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse_json(text) == value
    assert parse_json(text.encode()) == value
    assert parse_json(bytearray(text.encode())) == value


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("frame", ["{}", "[1, {}]", '{{"a": {{"b": {}}}}}'])
def test_constants_that_are_no_json_are_refused_by_name(number: str, frame: str) -> None:
    assert number in _refusal(frame.format(number))


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1E400", "[0.1e+400]", '{"a": 2e308}'])
def test_a_number_beyond_floats_is_refused(number: str) -> None:
    assert "too large" in _refusal(number)


def test_a_number_too_small_for_floats_is_zero() -> None:
    assert parse_json("1e-999") == 0


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"b": {"a": 1, "\\u0061": 2}}]', '{"": 1, "": 2}'])
def test_a_key_that_stands_twice_is_refused(text: str) -> None:
    assert "twice" in _refusal(text)


def test_equal_keys_in_different_objects_are_fine() -> None:
    assert parse_json('[{"a": 1}, {"a": {"a": 2}}]') == [{"a": 1}, {"a": {"a": 2}}]


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nesting_has_a_limit(opening: str, closing: str) -> None:
    inner = "1"
    parse_json(opening * MAX_DEPTH + inner + closing * MAX_DEPTH)
    for depth in (MAX_DEPTH + 1, 2_000, 100_000):
        assert f"{MAX_DEPTH} levels" in _refusal(opening * depth + inner + closing * depth)
    assert _refusal(opening * 100_000)


@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_of_5000_digits_is_refused_and_one_of_4000_is_not(sign: str) -> None:
    assert "digits" in _refusal(f'{{"a": [{sign}{"9" * 5000}]}}')
    assert parse_json(sign + "1" + "0" * 3999) == int(f"{sign}1") * 10**3999


def test_escaped_lone_surrogates_pass_and_pairs_are_joined() -> None:
    assert parse_json(b'{"a": "\\ud800", "\\udfff": "\\ud83d\\ude00"}') == {"a": "\ud800", "\udfff": "😀"}


@pytest.mark.parametrize(
    "body",
    [b'"\xff"', b'"\xc3"', b'"\xed\xa0\x80"', b"\xc0\x80", '"a"'.encode("utf-16"), '"ä"'.encode("utf-16-le")],
)
def test_bytes_that_are_no_utf_8_are_refused(body: bytes) -> None:
    assert _refusal(body)


def test_invalid_utf_8_is_named_by_its_place() -> None:
    assert _refusal(b'"abc\xff"') == "Not valid UTF-8 at byte 4."


def test_a_byte_order_mark_before_utf_8_is_no_part_of_the_text() -> None:
    assert parse_json(b"\xef\xbb\xbf[1]") == [1]


def test_a_byte_order_mark_inside_text_is_refused() -> None:
    assert _refusal("\ufeff[1]")
    assert _refusal(b"\xef\xbb\xbf\xef\xbb\xbf[1]")


@pytest.mark.parametrize("text", ["", " ", "{", "[1,]", "{'a': 1}", "[1] 2", "nul", '"a\nb"', "01", "+1", ".5", "\x00"])
def test_what_is_no_json_is_refused_at_its_place(text: str) -> None:
    assert "line" in _refusal(text)
    assert "line" in _refusal(text.encode())


def test_no_refusal_quotes_the_text() -> None:
    for text in ('{"secret": 1, "secret": 2}', '["secret" 1]', '["secret", NaN]', '{"secret": 1e999}'):
        assert "secret" not in _refusal(text)


def test_a_large_body_is_decoded_across_its_pieces() -> None:
    value = {"text": "漢字👍é" * 400_000}
    assert parse_json(json.dumps(value, ensure_ascii=False).encode()) == value
    assert parse_json(b"\xef\xbb\xbf" + json.dumps(value, ensure_ascii=False).encode()) == value
    with pytest.raises(InvalidJSONError, match="UTF-8"):
        parse_json(json.dumps(value, ensure_ascii=False).encode() + b"\xff")
