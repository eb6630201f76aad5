"""What every reason, every protection rule and every failure means, in one sentence each."""

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
    "recently_recovered": "it was read back from the archive a short while ago",
    "call_not_finished": "the call has not finished",
    "result_not_success": "the call did not succeed",
    "name_mismatch": "call and result name different tools",
    "not_text": "the result is not only text",
    "invalid_input": "the call's input is not a JSON object",
    "no_source_ref": "source_refs says nothing about this call, and no archive is used",
    "invalid_source_ref": "its source ref is blank or holds control characters",
    "unresolved_source_ref": "the host found nothing under its source ref",
    "already_compacted": "it is a preview from an earlier compaction",
    "archive_failed": "the original could not be archived",
}


def failure_text(failure: object) -> str:
    """Write one entry of `stats.errors` on one line."""
    if not isinstance(failure, Mapping):
        return printable(failure)
    text = f"{failure.get('code', 'unknown')}: {failure.get('message', '')}"
    batches = failure.get("batches")
    if isinstance(batches, int) and batches > 1:
        text += f" ({batches} batches)"
    return printable(text)


def warnings_beyond_failures(stats: Mapping[str, Any]) -> list[str]:
    """Return the warnings that do more than repeat a failure of the decision model."""
    failures = [str(failure.get("message")) for failure in stats.get("errors") or [] if isinstance(failure, Mapping)]
    repeated = [message for message in failures if message]
    return [
        str(warning)
        for warning in stats.get("warnings") or []
        if not any(message in str(warning) for message in repeated)
    ]
