"""What OpenAI's Responses API demands of calls, outputs and reasoning; it refuses a request that breaks it.

An output may stand anywhere after its call. The API goes through the items in order and binds each call to one output.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from reme_compact.history.formats.answered_calls import (
    CALL_ANSWERED_ONCE,
    EVERY_CALL_ANSWERED,
    RESULT_AFTER_CALL,
    UNIQUE_CALL_IDS,
)
from reme_compact.history.formats.protocol import SourceMessage, Violation

REASONING_FOLLOWED = "reasoning_followed"
"""Rule: a reasoning item is directly followed by what the model made after it: a call, a message, more reasoning."""

_CALLED_BY = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "computer_call_output": "computer_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
}
_CALLS = frozenset(_CALLED_BY.values())
_OF_THE_HOST = frozenset({"mcp_approval_response", "local_shell_call_output", "compaction_trigger", "additional_tools"})

_Call: TypeAlias = tuple[str, str]


def broken_rules(messages: Sequence[SourceMessage]) -> Iterator[Violation]:
    """Yield the rules of this module that a history breaks, item by item."""
    last_answers = {_call_of(item): index for index, item in enumerate(messages) if _type_of(item) in _CALLED_BY}
    called: set[_Call] = set()
    answered: set[_Call] = set()
    refers_to_others = False
    for index, item in enumerate(messages):
        kind, call = _type_of(item), _call_of(item)
        if kind in _CALLS:
            if call in called:
                message = "must be an id that no other call of the history has"
                yield Violation(UNIQUE_CALL_IDS, f"[{index}].call_id", message)
            elif last_answers.get(call, -1) < index:
                yield Violation(EVERY_CALL_ANSWERED, f"[{index}]", "must be answered by an output after it")
            called.add(call)
        elif kind in _CALLED_BY:
            # A call to which an item only refers is one that cannot be seen here.
            if call not in called and not refers_to_others:
                yield Violation(RESULT_AFTER_CALL, f"[{index}].call_id", "must answer a call that stands before it")
            if call in answered:
                yield Violation(CALL_ANSWERED_ONCE, f"[{index}]", "must not answer a call that was answered before")
            answered.add(call)
        elif kind == "reasoning":
            if index + 1 == len(messages) or not _is_of_the_model(messages[index + 1]):
                yield Violation(REASONING_FOLLOWED, f"[{index}]", "must be followed by what the model made after it")
        elif kind == "item_reference":
            refers_to_others = True


def _type_of(item: SourceMessage) -> str:
    """Return the type of an item, also where the API lets it be left out."""
    kind = item.get("type")
    if kind is None:
        return "message" if "role" in item else "item_reference"
    return str(kind)


def _call_of(item: SourceMessage) -> _Call:
    """Return what a call and its output have in common: the kind of call, and the call's id."""
    kind = _type_of(item)
    return _CALLED_BY.get(kind, kind), str(item.get("call_id"))


def _is_of_the_model(item: SourceMessage) -> bool:
    kind = _type_of(item)
    if kind == "message":
        return bool(item.get("role") == "assistant")
    return kind not in _CALLED_BY and kind not in _OF_THE_HOST
