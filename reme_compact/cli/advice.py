"""What to do with a proposal, and what would let more be replaced."""

from collections.abc import Iterable, Mapping
from typing import Any

from reme_compact.cli.decision_lines import blocks_of, readable_messages, tool_names
from reme_compact.cli.printable import printable, shorten
from reme_compact.cli.sent import option, says_nothing

_APPLY = "archive each replaced original under its reference, then send answer.messages instead of yours"
_APPLY_REST = "archive each replaced original whose reference is your own, then send answer.messages instead of yours"
_APPLY_ARCHIVED = (
    "send answer.messages instead of yours; what a preview's last line names is read back as in "
    "`reme recover ref={reference}`"
)
_LEAVE = "send your history as it is"
_KNOWN_BLOCKS = frozenset({"text", "thinking", "hint", "tool_call", "tool_result", "data"})
_MOVABLE = frozenset({"recent", "tool_not_eligible", "no_source_ref", "invalid_source_ref"})
_NAMED_AT_MOST = 5


def next_step(result: Mapping[str, Any], request: Mapping[str, Any] | None = None) -> str:
    """Say in one or two sentences what to do with a proposal.

    Args:
        result: the proposal.
        request: what was sent; null when it is not known.

    """
    changed, ways = bool(result.get("changed")), _ways(result, request)
    deed = _deed(result) if changed else _LEAVE if ways else f"{_LEAVE}; {_why_not(result)}"
    if result.get("reason") == "budget_exceeded":
        usable = "the proposal is usable: " if changed else ""
        fit = "; or ".join(["raise options.max_output_tokens", *ways])
        return f"{usable}{deed}. It does not fit the budget{_figures(result, request)}. To make it fit: {fit}."
    return f"{deed}. To let more be replaced: {'; or '.join(ways)}." if ways and not changed else f"{deed}."


def _deed(result: Mapping[str, Any]) -> str:
    """Say what makes a changed history safe to use: whatever the archive does not keep, the host has to."""
    archived = _stats(result).get("archived")
    kept = archived.get("results") if isinstance(archived, Mapping) else 0
    if not kept:
        return _APPLY
    replaced = [decision for decision in result.get("decisions") or () if decision.get("action") == "preview"]
    if kept != len(replaced):
        return _APPLY_REST
    return _APPLY_ARCHIVED.format(reference=printable(str(replaced[0].get("source_ref"))))


def _figures(result: Mapping[str, Any], request: Mapping[str, Any] | None) -> str:
    tokens, budget = _stats(result).get("tokens_after"), option(request or {}, "max_output_tokens")
    if not isinstance(tokens, int) or not isinstance(budget, int):
        return ""
    return f" ({tokens:,} tokens, options.max_output_tokens is {budget:,})"


def _ways(result: Mapping[str, Any], request: Mapping[str, Any] | None) -> list[str]:
    """Name what would each let more be replaced, what costs least first."""
    stats = _stats(result)
    failures = [failure.get("code") for failure in stats.get("errors") or () if isinstance(failure, Mapping)]
    decisions = result.get("decisions") or []
    reasons = {decision.get("reason") for decision in decisions}
    longer = ["raise options.total_timeout_seconds"] if "timeout" in (*failures, *reasons) else []
    if failures or longer:
        return [*longer, "ask again when the decision model works"] if failures else longer
    if reasons <= {"protected"}:
        return _obstacles(result, request)
    unobserved = {_detail(stats, decision) for decision in decisions if decision.get("reason") == "unobserved"}
    ways = []
    if "oversized" in unobserved:
        ways.append("lower options.evidence_chars, or raise options.max_state_tokens and options.max_request_tokens")
    if unobserved - {"oversized", "lone_surrogate"}:
        ways.append("say what the agent is doing (goal=, next_action=), so that the decision model can judge")
    if "invalid_answer" in reasons:
        ways.append("ask again, or ask another decision model, since this one's answers were no probabilities")
    if "needed_or_uncertain" in reasons:
        ways.append(_way_past_doubt(request))
    return ways


def _way_past_doubt(request: Mapping[str, Any] | None) -> str:
    higher = "a higher options.drop_threshold, at more risk"
    if request is None or not says_nothing(request, "next_action"):
        return f"try {higher}"
    if says_nothing(request, "goal"):
        return f"pass goal= and next_action=, what the agent is to achieve and does next; only then try {higher}"
    return f"pass next_action=, what the agent does next; only then try {higher}"


def _obstacles(result: Mapping[str, Any], request: Mapping[str, Any] | None) -> list[str]:
    """Return one way that names all obstacles at once, also those behind the rule that was met first."""
    stats = _stats(result)
    rules, tools = set(stats.get("protected_by") or ()), []
    if request is not None:
        pairs = zip(result.get("decisions") or [], tool_names(readable_messages(result)), strict=False)
        movable = [(one, tool) for one, (_, tool) in pairs if _detail(stats, one) in _MOVABLE]
        eligible, refs = request.get("eligible_tool_names") or (), request.get("source_refs") or {}
        chosen = [(one, tool) for one, tool in movable if tool in eligible]
        if chosen:
            rules.discard("tool_not_eligible")  # some tools are eligible: of the others the host said no
        elif movable:
            rules.add("tool_not_eligible")
            tools = [tool for _, tool in movable]
        if not request.get("archive") and any(one.get("call_id") not in refs for one, _ in chosen or movable):
            rules.add("no_source_ref")
    remedies = [text for rule, text in _remedies(request or {}, tools).items() if rule in rules]
    return (
        [remedies[0] if len(remedies) == 1 else f"{', '.join(remedies[:-1])}, and {remedies[-1]}"] if remedies else []
    )


def _remedies(request: Mapping[str, Any], tools: Iterable[str]) -> dict[str, str]:
    """Return what sets a pair free, by the rule that keeps it."""
    names = [shorten(name, 30) for name in dict.fromkeys(tools) if name]
    more = ", ..." if len(names) > _NAMED_AT_MOST else ""
    here = f" (here: {', '.join(names[:_NAMED_AT_MOST])}{more})" if names else ""
    messages, pairs = option(request, "preserve_recent_messages"), option(request, "preserve_recent_pairs")
    return {
        "first_message": "put tool calls after the first message, which is always kept",
        "recent": f"lower options.preserve_recent_messages ({messages}) or set options.preserve_recent_pairs"
        if pairs is None
        else f"lower options.preserve_recent_pairs ({pairs})",
        "tool_not_eligible": f"name the tools whose results may be replaced in eligible_tool_names{here}",
        "no_source_ref": "have the originals archived (archive.session=), or give each call a reference in source_refs",
        "invalid_source_ref": "write each reference in source_refs without control characters, and not blank",
    }


def _why_not(result: Mapping[str, Any]) -> str:
    """Say why nothing can be replaced, where the request's keys and options cannot change it."""
    reasons = {decision.get("reason") for decision in result.get("decisions") or []} - {"protected"}
    if not result.get("decisions"):
        return _why_no_calls([message for message in result.get("messages") or [] if isinstance(message, Mapping)])
    if not reasons:
        return "every tool result in it is protected"
    if "within_budget" in reasons:
        return "it fits the budget"
    return "nothing in it can get shorter"


def _why_no_calls(messages: list[Mapping[str, Any]]) -> str:
    """Say that the messages are in another format, where they look it."""
    blocks = (block for message in messages for block in blocks_of(message))
    kinds = dict.fromkeys(str(block.get("type")) for block in blocks)
    foreign = [shorten(kind, 30) for kind in kinds if kind not in _KNOWN_BLOCKS]
    signs = [f"blocks of type {', '.join(foreign[:_NAMED_AT_MOST])}"] if foreign else []
    if any("tool_calls" in message for message in messages):
        signs.append("messages with tool_calls")
    if not signs:
        return "there is no tool call with an id in it"
    return (
        f"no tool call was found, because its message format is not AgentScope 2.x ({' and '.join(signs)}); "
        "`reme compact_context --help` has an example of that format"
    )


def _stats(result: Mapping[str, Any]) -> Mapping[str, Any]:
    return result.get("stats") or {}


def _detail(stats: Mapping[str, Any], decision: Mapping[str, Any]) -> str:
    return str((stats.get("details") or {}).get(decision.get("id"), ""))
