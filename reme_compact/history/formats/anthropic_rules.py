"""What Anthropic's Messages API demands of calls, results and thinking; it refuses a request that breaks it.

Consecutive messages of one role are one turn: the API combines them, so roles need not alternate.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from reme_compact.history.formats.answered_calls import (
    CALL_ANSWERED_ONCE,
    EVERY_CALL_ANSWERED,
    RESULT_AFTER_CALL,
    UNIQUE_CALL_IDS,
)
from reme_compact.history.formats.protocol import SourceMessage, Violation

ASSISTANT_CALLS = "assistant_calls"
"""Rule: only the assistant calls tools."""

USER_ANSWERS = "user_answers"
"""Rule: only user messages hold results."""

RESULTS_FIRST = "results_first"
"""Rule: in a user turn the results stand before everything else."""

THINKING_FIRST = "thinking_first"
"""Rule: an assistant turn that thinks and calls a tool begins with its thinking."""

THINKING_SIGNED = "thinking_signed"
"""Rule: thinking carries its signature."""

_THINKING = ("thinking", "redacted_thinking")

_Placed: TypeAlias = tuple[str, dict[str, Any]]
"""A block, and where it stands."""


@dataclass(slots=True)
class _Turn:
    role: Any
    blocks: list[_Placed] = field(default_factory=list)

    def of_type(self, *kinds: str) -> list[_Placed]:
        return [(path, block) for path, block in self.blocks if block.get("type") in kinds]


def broken_rules(messages: Sequence[SourceMessage]) -> Iterator[Violation]:
    """Yield the rules of this module that a history breaks, turn by turn.

    A call of the last turn is not answered yet, which the API accepts as little as one that never is.
    """
    seen: set[str] = set()
    previous = _Turn(None)
    for turn in [*_turns(messages), _Turn(None)]:
        results = turn.of_type("tool_result")
        yield from _check_calls(previous, turn.role, results)
        yield from _check_results(previous, turn, results)
        yield from _check_new_calls(turn, seen)
        yield from _check_thinking(turn)
        previous = turn


def _turns(messages: Sequence[SourceMessage]) -> list[_Turn]:
    turns: list[_Turn] = []
    for index, message in enumerate(messages):
        if not turns or turns[-1].role != message.get("role"):
            turns.append(_Turn(message.get("role")))
        content = message.get("content")
        if isinstance(content, str):
            turns[-1].blocks.append((f"[{index}].content", {"type": "text"}))
        elif isinstance(content, list):
            turns[-1].blocks.extend(
                (f"[{index}].content[{place}]", block) for place, block in enumerate(content) if isinstance(block, dict)
            )
    return turns


def _check_calls(turn: _Turn, next_role: Any, results: Sequence[_Placed]) -> Iterator[Violation]:
    """Hold the calls of an assistant's turn against the results of the turn after it."""
    if turn.role != "assistant":
        return
    answered = _ids(results, "tool_use_id") if next_role == "user" else set()
    for path, call in turn.of_type("tool_use"):
        if _id(call, "id") not in answered:
            yield Violation(EVERY_CALL_ANSWERED, path, "must be answered by a result in the next message, the user's")


def _check_results(previous: _Turn, turn: _Turn, results: Sequence[_Placed]) -> Iterator[Violation]:
    if not results:
        return
    called = _ids(previous.of_type("tool_use"), "id") if previous.role == "assistant" else set()
    given = Counter[str | None]()
    is_first = True
    for path, block in turn.blocks:
        if block.get("type") != "tool_result":
            is_first = False
            continue
        call_id = _id(block, "tool_use_id")
        given[call_id] += 1
        if turn.role != "user":
            yield Violation(USER_ANSWERS, path, "must stand in a user message")
        elif call_id not in called:
            yield Violation(RESULT_AFTER_CALL, f"{path}.tool_use_id", "must answer a call of the message before")
        elif given[call_id] > 1:
            yield Violation(CALL_ANSWERED_ONCE, path, "must not answer a call that was answered before")
        if not is_first and turn.role == "user":
            yield Violation(RESULTS_FIRST, path, "must stand before whatever else the user says after a call")


def _check_new_calls(turn: _Turn, seen: set[str]) -> Iterator[Violation]:
    for path, call in turn.of_type("tool_use"):
        call_id = _id(call, "id")
        if turn.role != "assistant":
            yield Violation(ASSISTANT_CALLS, path, "must stand in an assistant message")
        if call_id is None or call_id in seen:
            yield Violation(UNIQUE_CALL_IDS, f"{path}.id", "must be an id that no other call of the history has")
        else:
            seen.add(call_id)


def _check_thinking(turn: _Turn) -> Iterator[Violation]:
    thoughts = turn.of_type(*_THINKING)
    if turn.role != "assistant" or not thoughts:
        return
    if turn.of_type("tool_use") and turn.blocks[0][1].get("type") not in _THINKING:
        yield Violation(THINKING_FIRST, thoughts[0][0], "must begin the turn, since a tool is called in it")
    for path, thought in thoughts:
        key = "signature" if thought["type"] == "thinking" else "data"
        if not isinstance(thought.get(key), str):
            yield Violation(THINKING_SIGNED, f"{path}.{key}", "must be as the API gave it out")


def _id(block: dict[str, Any], key: str) -> str | None:
    value = block.get(key)
    return value if isinstance(value, str) and value else None


def _ids(blocks: Sequence[_Placed], key: str) -> set[str]:
    return {call_id for _, block in blocks if (call_id := _id(block, key)) is not None}
