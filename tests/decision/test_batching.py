"""Packing: every unit once and in order, no request too large, as few as possible, and evenly filled."""

from itertools import combinations, pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.contract.options import CompactionOptions
from reme_compact.decision.batching import Packing, divide, pack_units
from reme_compact.decision.context import TaskContext
from reme_compact.tokens.estimate import estimate_tokens

MOST_QUESTIONS = 400
OVERHEAD = 256

_STATE = {"instructions": "Judge.", "goal": "Fix it", "task_context": [], "task_context_complete": True}
CONTEXT = TaskContext(_STATE, 24 + estimate_tokens(orjson.dumps(_STATE)))


def _unit(number: int, words: str) -> dict[str, Any]:
    return {
        "id": f"t{number}",
        "tool": "read_file",
        "input": "{}",
        "input_complete": True,
        "result": words,
        "result_complete": True,
        "result_chars": len(words),
    }


def _units(sizes: list[int], words: str = "word ") -> list[dict[str, Any]]:
    return [_unit(number, words * size) for number, size in enumerate(sizes, 1)]


def _options(state: int = 25_000, request: int = 30_000) -> CompactionOptions:
    return CompactionOptions(max_state_tokens=state, max_request_tokens=request)


def _check(packing: Packing, units: list[dict[str, Any]], options: CompactionOptions) -> None:
    """Check what must hold of any packing, by measuring the finished requests."""
    packed = [unit for batch in packing.batches for unit in batch.state["evidence_units"]]
    assert [unit["id"] for unit in packed] == [unit["id"] for unit in units if unit["id"] not in packing.oversized]
    assert len(packed) + len(packing.oversized) == len(units)
    for batch in packing.batches:
        assert list(batch.questions()) == [unit["id"] for unit in batch.state["evidence_units"]]
        assert {key: value for key, value in batch.state.items() if key != "evidence_units"} == CONTEXT.state
        assert 0 < len(batch.unit_ids) <= MOST_QUESTIONS
        state_tokens = estimate_tokens(orjson.dumps(batch.state))
        assert state_tokens <= batch.state_tokens <= options.max_state_tokens
        asking = estimate_tokens(orjson.dumps(batch.questions()))
        assert state_tokens + asking + OVERHEAD <= options.max_request_tokens


def test_without_units_there_is_no_request() -> None:
    assert pack_units([], CONTEXT, _options()) == Packing([], [])


def test_what_fits_is_one_request() -> None:
    units = _units([10, 20, 30])
    packing = pack_units(units, CONTEXT, _options())
    (batch,) = packing.batches
    assert batch.state["evidence_units"] == units
    assert packing.oversized == []


@given(
    st.lists(st.integers(0, 400), max_size=40),
    st.sampled_from(["word ", "漢字", "0f9a", '"\\', "👍🏽"]),
    st.integers(200, 4_000),
    st.integers(500, 4_000),
)
def test_requests_keep_both_limits_and_lose_nothing(sizes: list[int], words: str, state: int, request: int) -> None:
    units, options = _units(sizes, words), _options(state, request)
    packing = pack_units(units, CONTEXT, options)
    _check(packing, units, options)
    for unit in units:
        alone = pack_units([unit], CONTEXT, options)
        assert (alone.oversized == []) is (unit["id"] not in packing.oversized)


@pytest.mark.parametrize("options", [_options(state=2_000), _options(request=2_500)])
def test_a_unit_too_large_alone_is_named_and_the_others_are_asked_about(options: CompactionOptions) -> None:
    units = _units([100, 9_000, 100, 9_000, 100])
    packing = pack_units(units, CONTEXT, options)
    assert packing.oversized == ["t2", "t4"]
    _check(packing, units, options)
    assert len(packing.batches) == 1


@pytest.mark.parametrize("options", [_options(state=1), _options(request=1), _options(state=CONTEXT.tokens)])
def test_without_room_for_anything_everything_is_oversized(options: CompactionOptions) -> None:
    packing = pack_units(_units([0, 5]), CONTEXT, options)
    assert packing == Packing([], ["t1", "t2"])


@pytest.mark.parametrize("count", [400, 401, 1000])
def test_no_request_has_more_than_400_questions(count: int) -> None:
    units, options = _units([0] * count), _options(10**6, 10**6)
    packing = pack_units(units, CONTEXT, options)
    _check(packing, units, options)
    assert len(packing.batches) == -(-count // MOST_QUESTIONS)


def test_requests_are_filled_evenly() -> None:
    units = _units([200] * 101)
    packing = pack_units(units, CONTEXT, _options(state=25_000 + CONTEXT.tokens, request=60_000))
    filled = [len(batch.unit_ids) for batch in packing.batches]
    assert len(filled) > 1
    assert max(filled) - min(filled) <= len(filled)


def _every_division(count: int) -> list[list[int]]:
    inner = range(1, count)
    return [[*cuts, count] for size in range(count) for cuts in combinations(inner, size)]


def _sums(sizes: list[int], ends: list[int]) -> list[int]:
    return [sum(sizes[start:end]) for start, end in pairwise([0, *ends])]


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 6)), min_size=1, max_size=9), st.data())
def test_as_few_batches_as_possible_and_the_largest_as_small_as_possible(
    units: list[tuple[int, int]], data: st.DataObject
) -> None:
    state_sizes = [size for size, _ in units]
    request_sizes = [size + asking for size, asking in units]
    room_in_state = data.draw(st.integers(max(state_sizes), max(state_sizes) * 4))
    room_in_request = data.draw(st.integers(max(request_sizes), max(request_sizes) * 4))
    possible = [
        ends
        for ends in _every_division(len(units))
        if max(_sums(state_sizes, ends)) <= room_in_state and max(_sums(request_sizes, ends)) <= room_in_request
    ]
    fewest = min(len(ends) for ends in possible)
    smallest = min(max(_sums(request_sizes, ends)) for ends in possible if len(ends) == fewest)
    found = divide(state_sizes, request_sizes, room_in_state, room_in_request)
    assert found in possible
    assert len(found) == fewest
    assert max(_sums(request_sizes, found)) == smallest
