"""Counters by name: what each counts, that counts add up, and what is wrong with a name that is none."""

import sys
from pathlib import Path
from typing import Any

import pytest
import tiktoken
from histories import call, histories, history, message, result, text
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.contract.errors import ConfigurationError, MissingExtraError, TokenCounterError
from reme_compact.tokens.counters import AdditiveTokenCounter
from reme_compact.tokens.encodings import load_text_counter
from reme_compact.tokens.registry import build_token_counter

ENCODINGS = ["o200k_base", "cl100k_base"]
BUILT_IN = ["estimate", *ENCODINGS]

MODULE = """
from reme_compact.tokens.counters import AdditiveTokenCounter

def count(messages):
    return len(messages)

def fails(messages):
    raise ValueError("private")

def half(messages):
    return 0.5

additive = AdditiveTokenCounter(lambda message: 10, 1, name="mine")
unnamed = AdditiveTokenCounter(lambda message: 10)
number = 5
"""


@pytest.fixture
def host_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a host's own module importable."""
    (tmp_path / "host_counters.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "host_broken.py").write_text("raise ValueError('private')", encoding="utf-8")
    (tmp_path / "host_unreadable.py").write_text("def (", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("host_counters", "host_broken", "host_unreadable"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def _additive(backend: str, overhead: int = 0, **fields: Any) -> AdditiveTokenCounter:
    counter = build_token_counter(backend, overhead, **fields)
    assert isinstance(counter, AdditiveTokenCounter)
    return counter


def _block_count(counter: AdditiveTokenCounter, block: dict[str, Any]) -> int:
    assert counter.count_block is not None
    return counter.count_block(block)


@pytest.mark.parametrize("backend", BUILT_IN)
@given(messages=histories())
def test_a_message_is_its_frame_and_its_blocks(backend: str, messages: list[dict[str, Any]]) -> None:
    counter = _additive(backend)
    for item in messages:
        blocks = sum(_block_count(counter, block) for block in item["content"])
        assert counter.count_message(item) == counter.count_message({**item, "content": []}) + blocks


@pytest.mark.parametrize("backend", BUILT_IN)
def test_every_part_of_a_message_counts(backend: str) -> None:
    counter = _additive(backend)
    assert counter.count_message(message("user")) > 0
    long = "a word and another word " * 20
    for block in (
        text(long),
        {"type": "thinking", "thinking": long},
        {"type": "hint", "hint": long},
        call("c1", tool_input=long),
        result("c1", long),
        result("c1", [text(long)]),
    ):
        assert _block_count(counter, block) > 40
    image = {"type": "data", "source": {"data": "A" * 100_000}}
    assert _block_count(counter, image) == _block_count(counter, {"type": "data"}) > 0


@pytest.mark.parametrize("backend", BUILT_IN)
def test_the_overhead_is_a_constant_and_the_count_is_marked_approximate(backend: str) -> None:
    counter = _additive(backend, 1234)
    assert (counter.constant, counter.name, counter.approximate) == (1234, backend, True)
    assert _additive(backend, name="budget").name == "budget"
    assert _additive(backend).constant == 0


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(words=st.text(st.characters(), max_size=200))
def test_an_encoding_counts_what_tiktoken_counts(encoding: str, words: str) -> None:
    count = load_text_counter(encoding)
    assert count(words) == len(tiktoken.get_encoding(encoding).encode(words, disallowed_special=()))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_block_text_is_counted_by_the_encoding(encoding: str) -> None:
    counter, words = _additive(encoding), "def retry(charge):\n    return 漢字 👍🏽 <|endoftext|>\n" * 50
    expected = len(tiktoken.get_encoding(encoding).encode(words, disallowed_special=()))
    assert _block_count(counter, text(words)) == expected


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("run", [" ", "\t", "\n", "\u00a0", "a", "\ud800"], ids=ascii)
def test_a_very_long_run_is_counted_too(encoding: str, run: str) -> None:
    assert load_text_counter(encoding)(run * 1_100_000) > 0


def test_a_lone_surrogate_counts_as_something() -> None:
    for backend in BUILT_IN:
        assert _block_count(_additive(backend), text("\ud800")) > 0


def test_without_tiktoken_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    load_text_counter.cache_clear()
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'reme-compact\[tokenizers\]'"):
        build_token_counter("o200k_base")


@pytest.mark.usefixtures("host_module")
def test_a_function_of_the_host_counts_the_whole_history_plus_the_overhead() -> None:
    counter = build_token_counter("host_counters:count", 100)
    assert callable(counter)
    assert counter(history(3)) == 105


@pytest.mark.usefixtures("host_module")
@pytest.mark.parametrize("function", ["fails", "half"])
def test_a_function_of_the_host_is_checked_like_any_counter(function: str) -> None:
    counter = build_token_counter(f"host_counters:{function}", 100)
    assert callable(counter)
    with pytest.raises(TokenCounterError) as caught:
        counter([])
    assert "private" not in caught.value.message


@pytest.mark.usefixtures("host_module")
def test_an_additive_counter_of_the_host_gets_the_overhead_too() -> None:
    counter = _additive("host_counters:additive", 100)
    assert (counter.constant, counter.name, counter.approximate) == (101, "mine", False)
    assert _additive("host_counters:unnamed", name="budget").name == "budget"


@pytest.mark.usefixtures("host_module")
@pytest.mark.parametrize(
    "path",
    [
        "host_missing:count",
        "host_counters:missing",
        "host_counters.deeper:count",
        "host_counters:number",
        "host_broken:count",
        "host_unreadable:count",
        "host..counters:count",
    ],
)
def test_a_path_that_leads_nowhere_is_named(path: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_token_counter(path)
    assert path in caught.value.message
    assert "private" not in caught.value.message


@pytest.mark.parametrize(
    "backend", ["", "o200k", "O200K_BASE", "os.path", "a:b:c", "module:", ":function", "a b:c", "os:1"]
)
def test_an_unknown_backend_is_told_the_known_ones(backend: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        build_token_counter(backend)
    for known in (*BUILT_IN, "package.module:function"):
        assert known in caught.value.message
