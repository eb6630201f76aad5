"""The estimate adds up over parts, whatever the parts, and comes near what a tokenizer counts."""

import base64
import json
import random

import pytest
from histories import load_history, trajectory_files
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.tokens import estimate
from reme_compact.tokens.encodings import load_text_counter
from reme_compact.tokens.estimate import encode, estimate_parts, estimate_tokens

parts = st.lists(st.one_of(st.binary(max_size=40), st.text(max_size=40).map(str.encode), st.just(b"")), max_size=20)
_random = random.Random(7)  # noqa: S311 - test data

SAMPLES = {
    "prose": "The scheduler retries a charge when the gateway answers late, and then the customer pays twice. " * 30,
    "code": "def retry(charge: Charge, *, limit: int = 3) -> Receipt:\n    for attempt in range(limit):\n"
    "        if (receipt := send(charge, attempt)) is not None:\n            return receipt\n" * 20,
    "json": json.dumps([{"id": n, "name": f"user_{n}", "active": n % 2 == 0, "score": n / 7} for n in range(200)]),
    "log": "2026-11-30T08:15:27.123Z WARN [replica-2] lag=1843ms lsn=0/5A3F8C10 (pid 4711)\n" * 40,
    "paths": "src/components/checkout/PaymentRetryButton.tsx:118:24\n" * 40,
    "base64": base64.b64encode(_random.randbytes(3000)).decode(),
    "hex": _random.randbytes(2000).hex(),
    "numbers": " ".join(str(_random.randrange(10**9)) for _ in range(400)),
    "chinese": "数据库复制延迟是因为主库上的一个长事务阻塞了日志回放。" * 40,
    "japanese": "レプリカの遅延は、長いトランザクションが原因です。" * 40,
    "russian": "Задержка реплики вызвана долгой транзакцией на основном сервере. " * 40,
    "german": "Die Überweisung wurde zweimal ausgeführt, weil der Wiederholungsschlüssel fehlte. " * 30,
    "emoji": "👍🏽👨‍👩‍👧🇩🇪🎉 " * 60,
    "symbols": "+-*/=<>!&|^~%$#@()[]{};:,.?" * 60,
}


@given(parts)
def test_each_part_is_estimated_as_if_alone(pieces: list[bytes]) -> None:
    assert estimate_parts(pieces) == [estimate_tokens(piece) for piece in pieces]


@given(parts)
def test_parts_add_up_to_the_whole(pieces: list[bytes]) -> None:
    # A cut changes the weight of one byte, and no byte weighs four tokens.
    whole = estimate_tokens(b"".join(pieces))
    assert whole - 4 * len(pieces) <= sum(estimate_parts(pieces))


@given(st.lists(st.dictionaries(st.text(max_size=9), st.text(max_size=60), max_size=3), min_size=1, max_size=20))
def test_objects_add_up_to_their_list(objects: list[dict[str, str]]) -> None:
    pieces = [json.dumps(item, ensure_ascii=False).encode() for item in objects]
    whole = estimate_tokens(b"[" + b",".join(pieces) + b"]")
    added = sum(estimate_parts(pieces))
    assert whole - 2 * (len(pieces) + 1) <= added <= whole + len(pieces)


@given(st.text(max_size=300), st.text(max_size=300))
def test_more_text_is_never_less(first: str, second: str) -> None:
    assert estimate_tokens(first + second) >= estimate_tokens(first)


def test_nothing_costs_nothing() -> None:
    assert estimate_tokens("") == 0
    assert estimate_parts([]) == []
    assert estimate_parts([b"", b"", b""]) == [0, 0, 0]
    assert estimate_parts([b"", b"word", b""]) == [0, estimate_tokens("word"), 0]


@given(parts, st.integers(1, 30))
def test_where_chunks_end_changes_nothing(pieces: list[bytes], chunk: int) -> None:
    expected = estimate_parts(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimate, "_FIRST_CHUNK_BYTES", chunk)
        patch.setattr(estimate, "_LARGEST_CHUNK_BYTES", 4 * chunk)
        assert estimate_parts(pieces) == expected


def test_parts_larger_than_a_chunk() -> None:
    large = b"word " * 1_000_000
    assert estimate_parts([b"a", large, b"b", large]) == [
        estimate_tokens("a"),
        estimate_tokens(large),
        estimate_tokens("b"),
        estimate_tokens(large),
    ]


def test_text_and_its_bytes_are_the_same() -> None:
    assert estimate_tokens("漢字 and words") == estimate_tokens("漢字 and words".encode())


def test_lone_surrogates_are_measured_too() -> None:
    assert estimate_tokens("\ud800" * 10) > 0
    assert encode("a\ud800b") == b"a?b"


@pytest.mark.parametrize("kind", SAMPLES)
def test_everyday_text_is_estimated_near_its_count(kind: str) -> None:
    counted = load_text_counter("o200k_base")(SAMPLES[kind])
    assert 0.75 * counted <= estimate_tokens(SAMPLES[kind]) <= 3 * counted


def test_recorded_histories_are_not_underestimated() -> None:
    for path in trajectory_files():
        written = json.dumps(load_history(path), ensure_ascii=False)
        assert load_text_counter("o200k_base")(written) <= estimate_tokens(written), path.name
