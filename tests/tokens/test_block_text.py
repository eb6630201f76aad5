"""What of a block reaches a model, and so counts."""

from typing import Any

import pytest
from histories import call, message, result, text

from reme_compact.tokens.block_text import block_texts, data_blocks, message_overhead

IMAGE = {"type": "data", "source": {"type": "base64", "data": "A" * 1000, "media_type": "image/png"}}


@pytest.mark.parametrize(
    ("block", "texts"),
    [
        (text("a"), ["a"]),
        (text(""), []),
        ({"type": "thinking", "thinking": "hm", "signature": "x"}, ["hm"]),
        ({"type": "hint", "hint": "look"}, ["look"]),
        ({"type": "hint", "hint": [text("look"), IMAGE]}, ["look"]),
        (call("c1", "read", '{"a":1}'), ["c1", "read", '{"a":1}']),
        (call("c1", "read", {"a": [1, "ä"]}), ["c1", "read", '{"a":[1,"ä"]}']),
        (call("c1", "read", {"a": "\ud800", "n": 2**70}), ["c1", "read", '{"a":"\ud800","n":1180591620717411303424}']),
        (result("c1", "out", "read"), ["c1", "read", "out"]),
        (result("c1", [text("a"), IMAGE, text("b")], "read"), ["c1", "read", "a", "b"]),
        (result("c1", None, "read"), ["c1", "read"]),
        (result("c1", [{"odd": 1}], "read"), ["c1", "read", '{"odd":1}']),
        (IMAGE, []),
        ({}, []),
        ({"type": None}, []),
        ({"type": "text"}, []),
    ],
)
def test_texts(block: dict[str, Any], texts: list[str]) -> None:
    assert block_texts(block) == texts


@pytest.mark.parametrize(
    ("block", "images"),
    [
        (IMAGE, 1),
        (result("c1", [text("a"), IMAGE, IMAGE]), 2),
        ({"type": "hint", "hint": [IMAGE]}, 1),
        (result("c1", "text"), 0),
        (text("data"), 0),
        ({"type": "tool_call", "output": [IMAGE]}, 0),
    ],
)
def test_images_are_counted_and_not_read(block: dict[str, Any], images: int) -> None:
    assert data_blocks(block) == images


def test_a_name_adds_to_a_message() -> None:
    plain = message("user")
    assert message_overhead({**plain, "name": "ada"}) > message_overhead(plain) > 0
    assert message_overhead({**plain, "content": [text("x" * 1000)]}) == message_overhead(plain)
