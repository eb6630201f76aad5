"""What every reason and every protection rule means, and what a person can do about it, in one sentence each."""

from collections.abc import Mapping
from typing import Any

from reme_compact.cli.printable import printable

REASONS: Mapping[str, str] = {
    "protected": "a rule keeps this pair; the rule stands beside it",
    "within_budget": "the history already fits the budget without it",
    "unobserved": "the decision model was not asked, so nothing is known",
    "invalid_answer": "the decision model's answer was not a probability",
    "model_error": "the decision request failed",
    "timeout": "no answer came in time",
    "needed_or_uncertain": "its probability of being needed is above drop_threshold",
    "no_savings": "the result is too short to get shorter",
    "low_relevance": "its probability of being needed is at or below drop_threshold",
}

RULES: Mapping[str, str] = {
    "result_missing": "the call has no result after it",
    "ambiguous_id": "more than one call or result has this id",
    "first_message": "it stands in the first message",
    "system_message": "it stands in a system message",
    "recent": "it is recent (options.preserve_recent_messages or preserve_recent_pairs)",
    "protected_message": "its message is in protected_message_ids",
    "protected_call": "the call is in protected_call_ids",
    "tool_not_eligible": "the tool is not in eligible_tool_names",
    "call_not_finished": "the call has not finished",
    "result_not_success": "the call did not succeed",
    "name_mismatch": "call and result name different tools",
    "not_text": "the result is not only text",
    "invalid_input": "the call's input is not a JSON object",
    "no_source_ref": "source_refs says nothing about this call",
    "invalid_source_ref": "its source ref is blank or holds control characters",
    "already_compacted": "it is a preview from an earlier compaction",
    "archive_failed": "the original could not be archived",
}

_REMEDIES: Mapping[str, str] = {
    "tool_not_eligible": "name the tools whose results may be replaced in eligible_tool_names",
    "no_source_ref": "give each call a reference in source_refs",
    "recent": "lower options.preserve_recent_messages, or set options.preserve_recent_pairs",
}

_NEXT: Mapping[str, str] = {
    "compacted": "archive each replaced original under its reference, then send answer.messages instead of yours.",
    "budget_exceeded": "raise options.max_output_tokens, or let more be replaced; nothing needed was removed.",
}


def next_step(result: Mapping[str, Any]) -> str:
    """Say in one sentence what to do with a proposal."""
    reason = str(result.get("reason"))
    if reason in _NEXT:
        return _NEXT[reason]
    stats = result.get("stats") or {}
    if stats.get("errors"):
        return "send your history as it is; when the decision model works again, ask again."
    if reason == "no_candidates":
        return _after_no_candidates(stats.get("protected_by") or {})
    reasons = {decision.get("reason") for decision in result.get("decisions") or []}
    if "unobserved" in reasons and "needed_or_uncertain" not in reasons:
        return "say what the agent is doing (goal=, next_action=), so that the decision model can judge."
    if "needed_or_uncertain" in reasons:
        return "send your history as it is; a higher options.drop_threshold would replace more, at more risk."
    return "send your history as it is; nothing in it can get shorter."


def _after_no_candidates(protected_by: Mapping[str, int]) -> str:
    for rule in sorted(protected_by, key=lambda name: -protected_by[name]):
        if rule in _REMEDIES:
            return f"send your history as it is; to let more be replaced, {_REMEDIES[rule]}."
    return "send your history as it is; every tool result in it is protected."


def failure_text(failure: object) -> str:
    """Write one entry of `stats.errors` on one line."""
    if not isinstance(failure, Mapping):
        return printable(failure)
    text = f"{failure.get('code', 'unknown')}: {failure.get('message', '')}"
    batches = failure.get("batches")
    if isinstance(batches, int) and batches > 1:
        text += f" ({batches} batches)"
    return printable(text)
