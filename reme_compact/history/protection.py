"""Which rule keeps a pair intact: the first that matches, in the order of this file."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from reme_compact.contract.messages import Message
from reme_compact.contract.request import CompactionRequest
from reme_compact.history.pairs import Location, ToolCall
from reme_compact.history.preview import is_preview, is_usable_source_ref
from reme_compact.history.recovery import (
    RECOVERED_PAIRS_KEPT,
    RECOVERY_TOOL,
    SessionReferences,
    recovered_reference,
)
from reme_compact.history.text import result_text
from reme_compact.history.tool_input import read_tool_input


@dataclass(slots=True)
class Candidate:
    """A pair that no rule protects.

    Attributes:
        call: the pair.
        result_at: where its result stands.
        tool: the tool's name.
        tool_input: the call's input.
        text: the result's text.
        source_ref: under which the original is kept.
        kept_by: the host; the archive, once it is stored; or the archive already, since it was read back from there.
    """

    call: ToolCall
    result_at: Location
    tool: str
    tool_input: dict[str, Any]
    text: str
    source_ref: str
    kept_by: Literal["host", "archive", "archive_already"] = "host"


class ProtectionRules:
    """The rules of one request, prepared so that checking a pair costs the same in any history.

    Args:
        request: the request.
        calls: all tool calls of the history.
        references: to the archive, for results without a source ref; null: there is none for this request.
    """

    def __init__(
        self, request: CompactionRequest, calls: list[ToolCall], references: SessionReferences | None = None
    ) -> None:
        self._calls = calls
        self._references = references
        self._source_refs = request.source_refs
        self._protected_call_ids = frozenset(request.protected_call_ids)
        self._eligible_tool_names = frozenset(request.eligible_tool_names)
        self._messages = request.messages
        protected_message_ids = frozenset(request.protected_message_ids)
        self._protected_messages = frozenset(
            index
            for index, message in enumerate(request.messages)
            if protected_message_ids and _message_id(message) in protected_message_ids
        )
        pairs_kept = request.options.preserve_recent_pairs
        self._recent_pairs = _last_pairs(calls, pairs_kept) if pairs_kept is not None else frozenset()
        self._first_recent_message = (
            len(request.messages)
            if pairs_kept is not None
            else len(request.messages) - request.options.preserve_recent_messages
        )

    def check(self, call: ToolCall) -> str | Candidate:
        """Return the name of the rule that protects a pair, or the pair as a candidate."""
        result, result_at = call.result, call.result_at
        if result is None or result_at is None:
            return call.pairing_rule or "result_missing"
        tool = call.call.get("name")
        rule = self._rule_of_place(call, result_at) or self._rule_of_tool(call, tool) or _rule_of_state(call, result)
        if rule is not None:
            return rule
        text = result_text(result)
        if text is None:
            return "not_text"
        tool_input = read_tool_input(call.call)
        if tool_input is None:
            return "invalid_input"
        return self._candidate(Candidate(call, result_at, str(tool), tool_input, text, ""))

    def _candidate(self, candidate: Candidate) -> str | Candidate:
        """Say under which reference the original of a pair is kept, or the rule that protects it for want of one."""
        source_ref = self._source_refs.get(candidate.call.call_id)
        if source_ref is not None:
            if not is_usable_source_ref(source_ref):
                return "invalid_source_ref"
            candidate.source_ref = source_ref
        elif self._references is None:
            return "no_source_ref"
        if is_preview(candidate.text):
            return "already_compacted"
        if source_ref is None and self._references is not None:
            recovered = recovered_reference(candidate.tool, candidate.tool_input, self._references)
            candidate.source_ref = recovered or self._references.to(candidate.text)
            candidate.kept_by = "archive_already" if recovered else "archive"
        return candidate

    def _rule_of_tool(self, call: ToolCall, tool: Any) -> str | None:
        """Apply the rules that look at the tool's name."""
        if not isinstance(tool, str) or not self._is_eligible(call, tool):
            return "tool_not_eligible"
        if tool == RECOVERY_TOOL and call.id in self._last_pairs:
            return "recently_recovered"
        return None

    @cached_property
    def _last_pairs(self) -> frozenset[str]:
        return _last_pairs(self._calls, RECOVERED_PAIRS_KEPT)

    def _is_eligible(self, call: ToolCall, tool: str) -> bool:
        if tool in self._eligible_tool_names:
            return True
        # What was read back from the archive is there, whatever else the host lets go.
        tool_input = read_tool_input(call.call) if tool == RECOVERY_TOOL else None
        if tool_input is None or self._references is None:
            return False
        return recovered_reference(tool, tool_input, self._references) is not None

    def _rule_of_place(self, call: ToolCall, result_at: Location) -> str | None:
        """Apply the rules that look at where a pair stands and what the host said about it."""
        first, last = call.call_at[0], result_at[0]
        if first == 0:
            return "first_message"
        if self._messages[first]["role"] == "system" or self._messages[last]["role"] == "system":
            return "system_message"
        if last >= self._first_recent_message or call.id in self._recent_pairs:
            return "recent"
        if first in self._protected_messages or last in self._protected_messages:
            return "protected_message"
        if call.call_id in self._protected_call_ids:
            return "protected_call"
        return None


def _rule_of_state(call: ToolCall, result: dict[str, Any]) -> str | None:
    """Apply the rules that look at how the call ended."""
    if call.call.get("state") != "finished":
        return "call_not_finished"
    if result.get("state") != "success":
        return "result_not_success"
    if result.get("name") != call.call.get("name"):
        return "name_mismatch"
    return None


def unmatched_names(request: CompactionRequest, calls: list[ToolCall]) -> Iterator[tuple[str, list[str]]]:
    """Yield each protection list with those of its entries that match nothing in the history."""
    seen_messages = {_message_id(message) for message in request.messages}
    seen_calls = {call.call_id for call in calls}
    seen_tools = {name for call in calls if isinstance(name := call.call.get("name"), str)}
    for field, wanted, seen in (
        ("protected_message_ids", request.protected_message_ids, seen_messages),
        ("protected_call_ids", request.protected_call_ids, seen_calls),
        ("eligible_tool_names", request.eligible_tool_names, seen_tools),
    ):
        missing = [name for name in dict.fromkeys(wanted) if name not in seen]
        if missing:
            yield field, missing


def _message_id(message: Message) -> str | None:
    value = message.get("id")
    return value if isinstance(value, str) else None


def _last_pairs(calls: list[ToolCall], count: int) -> frozenset[str]:
    """Return the decision ids of the last pairs, by where their results stand."""
    if count == 0:
        return frozenset()
    paired = sorted((call.result_at, call.id) for call in calls if call.result_at is not None)
    return frozenset(decision_id for _, decision_id in paired[-count:])
