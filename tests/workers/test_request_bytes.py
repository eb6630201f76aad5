"""A stored request comes back exactly as it was sent."""

import json
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reme_workers.compression import compress, decompress, decompressed_pieces, decompressed_size
from reme_workers.request_bytes import read_request

from reme_compact.contract.request import CompactionRequest


def stored(value: object, *, ascii_only: bool) -> BytesIO:
    return BytesIO(compress([json.dumps(value, ensure_ascii=ascii_only).encode()]))


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize(
    "field",
    [
        2**64,
        -(2**63) - 1,
        2**64 - 1,
        -(2**63),
        10**400,
        1e300,
        0.1,
        -0.0,
        True,
        None,
        "0123456789" * 3,
        "😀",
        {"a": [2**70]},
    ],
)
def test_every_value_comes_back(field: object, ascii_only: bool) -> None:
    value = {"messages": [{"role": "user", "content": [{"type": "text", "text": "go", "field": field}]}]}
    read = read_request(stored(value, ascii_only=ascii_only)).messages[0]["content"][0]["field"]
    assert json.dumps(read) == json.dumps(field)


def test_a_lone_surrogate_comes_back() -> None:
    value = {"messages": [{"role": "user", "content": [{"type": "text", "text": "\ud800"}]}]}
    assert read_request(stored(value, ascii_only=True)).messages == value["messages"]


def test_a_whole_request_comes_back() -> None:
    read = read_request(stored(CompactionRequest.example, ascii_only=False))
    assert read == CompactionRequest.parse(CompactionRequest.example)


@given(st.lists(st.binary(max_size=5000), max_size=8), st.integers(1, 400))
def test_what_is_compressed_in_pieces_comes_back(pieces: list[bytes], times: int) -> None:
    whole = b"".join(pieces * times)
    data = compress(pieces * times)
    assert decompressed_size(BytesIO(data)) == len(whole)
    assert decompress(BytesIO(data)) == whole
    back = decompressed_pieces(BytesIO(data))
    assert b"".join(back) == whole
    assert all(len(piece) <= 1024 * 1024 for piece in back)
