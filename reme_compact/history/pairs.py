"""Find every tool call in a history and the one result that answers it."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from reme_compact.contract.messages import Block, Message

Location: TypeAlias = tuple[int, int]
"""Position of a block: message index, block index."""

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


def pair_tool_blocks(messages: list[Message]) -> Pairing:
    """Pair calls with results by id.

    An id that names more than one call or more than one result is ambiguous; a result that is absent, or stands
    before its call, is missing.
    """
    calls: list[tuple[str, Location, Block]] = []
    results: dict[str, list[tuple[Location, Block]]] = {}
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
    paired = [
        _pair(f"t{number}", call_id, at, call, results.get(call_id, []), call_counts[call_id])
        for number, (call_id, at, call) in enumerate(calls, 1)
    ]
    orphans = [block_id for block_id in results if block_id not in call_counts]
    return Pairing(paired, orphans, blocks_without_id, list(unknown_types))


def _pair(
    decision_id: str,
    call_id: str,
    call_at: Location,
    call: Block,
    results: list[tuple[Location, Block]],
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
