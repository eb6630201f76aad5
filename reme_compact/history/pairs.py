"""Find every tool call in a history and the one result that answers it."""

import sys
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from reme_compact.contract.messages import Block, Message

Location: TypeAlias = tuple[int, int]
"""Position of a block: message index, block index."""

_Result: TypeAlias = tuple[Location, Block]
_END: Location = (sys.maxsize, 0)

PairingRule: TypeAlias = Literal["result_missing", "ambiguous_id"]


_OTHER_TYPES = ("text", "thinking", "hint", "data")
_LONGEST_TYPE = 40


@dataclass(slots=True)
class ToolCall:
    """One tool call with an id, and its result where there is exactly one.

    Attributes:
        id: decision id, t1..tn in order of appearance.
        call_id: the call's own id.
        call_at: where the call stands.
        call: the call block.
        result_at: where its result stands; null when the call cannot be paired.
        result: the result block; null when the call cannot be paired.
        pairing_rule: why the call cannot be paired.
    """

    id: str
    call_id: str
    call_at: Location
    call: Block
    result_at: Location | None = None
    result: Block | None = None
    pairing_rule: PairingRule | None = None


@dataclass(frozen=True, slots=True)
class Pairing:
    """All tool calls of a history with an id, and what could not be made sense of.

    Attributes:
        calls: every tool call with an id, in order.
        results_without_call: ids of results that answer no call.
        blocks_without_id: number of calls and results that carry no id.
        unknown_types: block types that are not AgentScope's, each once; a sign of another message format.
    """

    calls: list[ToolCall]
    results_without_call: list[str]
    blocks_without_id: int
    unknown_types: list[str]


def pair_tool_blocks(messages: list[Message], *, may_go_by_place: Callable[[str], bool] = lambda _: False) -> Pairing:
    """Pair calls with results by id.

    An id that names more than one call or more than one result is ambiguous; a result that is absent, or stands
    before its call, is missing.

    Args:
        messages: the history.
        may_go_by_place: tells of an id whether it may be used again. Then its calls and results are paired in their
            order, if each call is answered before the id's next use.
    """
    calls: list[tuple[str, Location, Block]] = []
    results: dict[str, list[_Result]] = {}
    call_counts: dict[str, int] = {}
    blocks_without_id = 0
    unknown_types: dict[str, None] = {}
    for message_index, message in enumerate(messages):
        for block_index, block in enumerate(message["content"]):
            kind = block.get("type")
            if kind != "tool_call" and kind != "tool_result":  # noqa: PLR1714 - faster than a set for text blocks
                if kind not in _OTHER_TYPES:
                    unknown_types[str(kind)[:_LONGEST_TYPE]] = None
                continue
            block_id = block.get("id")
            if not isinstance(block_id, str) or not block_id:
                blocks_without_id += 1
            elif kind == "tool_call":
                calls.append((block_id, (message_index, block_index), block))
                call_counts[block_id] = call_counts.get(block_id, 0) + 1
            else:
                results.setdefault(block_id, []).append(((message_index, block_index), block))
    reused = {call_id for call_id, count in call_counts.items() if count > 1 and may_go_by_place(call_id)}
    results_by_place = _answers_by_place(calls, results, reused) if reused else {}
    paired = [
        _pair(
            f"t{number}",
            call_id,
            at,
            call,
            results_by_place.get(at, results.get(call_id, [])),
            1 if at in results_by_place else call_counts[call_id],
        )
        for number, (call_id, at, call) in enumerate(calls, 1)
    ]
    orphans = [block_id for block_id in results if block_id not in call_counts]
    return Pairing(paired, orphans, blocks_without_id, list(unknown_types))


def _answers_by_place(
    calls: Iterable[tuple[str, Location, Block]], results: Mapping[str, list[_Result]], reused: Container[str]
) -> dict[Location, list[_Result]]:
    """Return, for each call of a reused id that is clearly answered or clearly the last, its one result or none."""
    places: dict[str, list[Location]] = {}
    for call_id, at, _ in calls:
        if call_id in reused:
            places.setdefault(call_id, []).append(at)
    answers: dict[Location, list[_Result]] = {}
    for call_id, called_at in places.items():
        found = results.get(call_id, [])
        used_again_at = [*called_at[1:], _END]
        is_clear = len(found) >= len(called_at) - 1 and all(
            at < result_at < next_at
            for at, (result_at, _), next_at in zip(called_at, found, used_again_at, strict=False)
        )
        if is_clear and len(found) <= len(called_at):
            answers.update((at, found[number : number + 1]) for number, at in enumerate(called_at))
    return answers


def _pair(
    decision_id: str,
    call_id: str,
    call_at: Location,
    call: Block,
    results: list[_Result],
    calls_with_id: int,
) -> ToolCall:
    if not results:
        return ToolCall(decision_id, call_id, call_at, call, pairing_rule="result_missing")
    if calls_with_id > 1 or len(results) > 1:
        return ToolCall(decision_id, call_id, call_at, call, pairing_rule="ambiguous_id")
    result_at, result = results[0]
    if result_at < call_at:
        return ToolCall(decision_id, call_id, call_at, call, pairing_rule="result_missing")
    return ToolCall(decision_id, call_id, call_at, call, result_at, result)
