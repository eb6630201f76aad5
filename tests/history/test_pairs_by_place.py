"""Ids that are used again: calls and results go together by place where each was answered before the next use."""

from typing import Any

import pytest
from histories import call, histories, message, result, text
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.history.pairs import Pairing, pair_tool_blocks

C, R = "call", "result"


def pair(blocks: list[dict[str, Any]], *, by_place: bool = True) -> Pairing:
    """Pair blocks that stand in one message."""
    messages = [message("user", text("go")), message("assistant", *blocks)]
    return pair_tool_blocks(messages, may_go_by_place=lambda _: by_place)


def blocks_of(kinds: str) -> list[dict[str, Any]]:
    """Return blocks of one id, from letters: c is a call, r a result."""
    return [call("c1") if kind == "c" else result("c1", str(at)) for at, kind in enumerate(kinds)]


def outcome(pairing: Pairing) -> str:
    """Return a letter per call: p if it is paired, else the first of its rule."""
    return "".join("p" if found.result_at else str(found.pairing_rule)[0] for found in pairing.calls)


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ("crcr", "pp"),
        ("crcrcr", "ppp"),
        ("crc", "pr"),
        ("crcrc", "ppr"),
        ("cc", "rr"),
        ("ccr", "aa"),
        ("ccrr", "aa"),
        ("crcrr", "aa"),
        ("crrc", "aa"),
        ("rcrc", "aa"),
        ("rcrcr", "aa"),
        ("rccr", "aa"),
        ("crccr", "aaa"),
        ("crrcr", "aa"),
        ("cr", "p"),
        ("crr", "a"),
        ("rc", "r"),
    ],
)
def test_a_reused_id_is_paired_by_place_only_if_every_use_is_clear(kinds: str, expected: str) -> None:
    pairing = pair(blocks_of(kinds))
    assert outcome(pairing) == expected
    for found in pairing.calls:
        assert (found.result is None) == (found.result_at is None) == (found.pairing_rule is not None)
        if found.result_at is not None:
            assert found.result_at == (1, found.call_at[1] + 1)
            assert found.result is not None
            assert found.result["output"] == str(found.result_at[1])


def test_what_stands_between_a_call_and_its_result_does_not_matter() -> None:
    messages = [
        message("user", text("go")),
        message("assistant", call("a"), call("b"), text("both")),
        message("user", result("b", "b1"), result("a", "a1")),
        message("assistant", call("b"), call("a")),
        message("user", result("a", "a2")),
        message("user", text("wait"), result("b", "b2")),
    ]
    found = pair_tool_blocks(messages, may_go_by_place=lambda _: True).calls
    outputs = [(item.id, item.call_id, item.result["output"] if item.result else None) for item in found]
    assert outputs == [("t1", "a", "a1"), ("t2", "b", "b1"), ("t3", "b", "b2"), ("t4", "a", "a2")]


def test_ids_that_may_not_go_by_place_stay_ambiguous() -> None:
    assert outcome(pair(blocks_of("crcr"), by_place=False)) == "aa"
    blocks = [*blocks_of("crcr"), call("c2"), result("c2", "x"), call("c2"), result("c2", "y")]
    messages = [message("user", text("go")), message("assistant", *blocks)]
    pairing = pair_tool_blocks(messages, may_go_by_place=lambda call_id: call_id == "c2")
    assert outcome(pairing) == "aapp"


def expected_pairs(places: list[tuple[str, int]]) -> dict[int, int] | None:
    """Return, for the uses of one id, the place of each call's result; null if the uses are not clear.

    Written as one reads a log: a result answers the call that waits for one.
    """
    pairs: dict[int, int] = {}
    waiting: int | None = None
    for kind, at in places:
        if kind == C:
            if waiting is not None:
                return None
            waiting = at
        elif waiting is None:
            return None
        else:
            pairs[waiting] = at
            waiting = None
    return pairs


@given(st.lists(st.tuples(st.sampled_from([C, R]), st.sampled_from(["a", "b", "c"])), max_size=14), st.data())
def test_exactly_those_answered_before_the_next_use_are_paired(
    uses: list[tuple[str, str]], data: st.DataObject
) -> None:
    """Calls and results of three ids in any order, spread over messages in any way."""
    messages: list[dict[str, Any]] = [message("assistant")]
    places: dict[str, list[tuple[str, int]]] = {}
    where: dict[tuple[int, int], int] = {}
    for number, (kind, block_id) in enumerate(uses):
        if data.draw(st.booleans()):
            messages.append(message("assistant"))
        content = messages[-1]["content"]
        where[len(messages) - 1, len(content)] = number
        content.append(call(block_id) if kind == C else result(block_id, str(number)))
        places.setdefault(block_id, []).append((kind, number))
    for found in pair_tool_blocks(messages, may_go_by_place=lambda _: True).calls:
        of_id = places[found.call_id]
        clear = expected_pairs(of_id)
        if clear is None:
            assert found.result_at is None
            kinds = [kind for kind, _ in of_id]
            only_before = kinds.count(C) == 1 and kinds.count(R) == 1
            no_result = R not in kinds
            assert found.pairing_rule == ("result_missing" if only_before or no_result else "ambiguous_id")
            continue
        answer = clear.get(where[found.call_at])
        assert (where[found.result_at] if found.result_at is not None else None) == answer
        assert found.pairing_rule == ("result_missing" if answer is None else None)


@given(histories())
def test_ids_that_are_used_once_are_paired_alike_in_both_ways(messages: list[dict[str, Any]]) -> None:
    by_id = pair_tool_blocks(messages)
    by_place = pair_tool_blocks(messages, may_go_by_place=lambda _: True)
    ids = [found.call_id for found in by_id.calls]
    for plain, placed in zip(by_id.calls, by_place.calls, strict=True):
        if ids.count(plain.call_id) == 1 or plain.pairing_rule != "ambiguous_id":
            assert plain == placed
    used = [found.result_at for found in by_place.calls if found.result_at is not None]
    assert len(used) == len(set(used)), "no result answers two calls"
    assert by_place.results_without_call == by_id.results_without_call
    assert by_place.blocks_without_id == by_id.blocks_without_id
