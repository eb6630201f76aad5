"""What a history may hold comes out as it went in, whole or in pieces."""

import json
from typing import Any

import pytest

from reme_compact.contract import json_bytes as module
from reme_compact.contract.json_bytes import json_bytes, response_pieces

ODD: list[Any] = ["\ud800", 2**80, "é\n", {"a": [None, True, 1.5]}]


@pytest.mark.parametrize("value", ODD)
def test_any_value_of_a_history_survives(value: Any) -> None:
    assert json.loads(json_bytes(value)) == value


@pytest.mark.parametrize("count", [0, 1, 7])
def test_pieces_are_the_whole(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(module, "_PIECE_BYTES", 20)
    messages = [{"role": "user", "content": ODD}] * count
    response = {"answer": {"messages": messages, "changed": True}, "success": True, "metadata": {"a": 1}}
    pieces = response_pieces(response)
    assert json.loads(b"".join(pieces)) == response
    assert len(pieces) == count + 1
