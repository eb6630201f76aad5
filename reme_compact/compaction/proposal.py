"""Put a proposal together: messages, one decision per call, and the figures that explain them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reme_compact.compaction.plan import Plan
from reme_compact.compaction.ranking import Application
from reme_compact.contract.result import DecisionReason, ResultReason
from reme_compact.decision.verdicts import Verdict, Verdicts
from reme_compact.history.draft import Draft
from reme_compact.history.sizes import history_chars, serialized_chars


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """What the token counter said, where there is one.

    Attributes:
        before: tokens of the source.
        after: tokens of the proposal.
        budget: tokens that the proposal may have; null without a budget.
        counter: name and kind of the counter, for `stats.token_counter`.
        from_first_change: tokens of the proposal from its first changed message on; null: nothing changed, or the
            counter only knows whole histories.
    """

    before: int | None = None
    after: int | None = None
    budget: int | None = None
    counter: dict[str, Any] | None = None
    from_first_change: int | None = None

    @property
    def budget_met(self) -> bool | None:
        """Whether the proposal fits; null without a budget."""
        if self.budget is None or self.after is None:
            return None
        return self.after <= self.budget

    @property
    def fits_before(self) -> bool:
        """Whether the source already fits, so that nothing needs to be asked."""
        return self.budget is not None and self.before is not None and self.before <= self.budget


def build_answer(
    plan: Plan,
    verdicts: Verdicts,
    application: Application,
    draft: Draft,
    tokens: TokenCounts,
    check: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Return the `CompactionResult` as plain data; `stats.elapsed_ms` is left to who has a clock."""
    first_changed = min((replacement.candidate.result_at[0] for replacement in application.applied), default=None)
    sizes = _measure(draft, first_changed, check)
    applied = {replacement.candidate.call.id: replacement for replacement in application.applied}
    decisions: list[dict[str, Any]] = []
    details: dict[str, str] = dict(plan.protected)
    for call in plan.calls:
        verdict = verdicts.by_unit.get(call.id)
        reason, detail = _reason(call.id, plan, verdict, application, within_budget=tokens.fits_before)
        if detail is not None:
            details[call.id] = detail
        decisions.append(
            {
                "id": call.id,
                "call_id": call.call_id,
                "action": "preview" if call.id in applied else "keep",
                "reason": reason,
                "probability": verdict.probability if verdict else None,
                "source_ref": applied[call.id].candidate.source_ref
                if call.id in applied
                else plan.request.source_refs.get(call.call_id),
            }
        )
    changed = bool(applied)
    return {
        "schema_version": 2,
        "messages": draft.messages,
        "decisions": decisions,
        "changed": changed,
        "reason": _result_reason(plan, changed=changed, budget_met=tokens.budget_met),
        "budget_met": tokens.budget_met,
        "stats": _stats(plan, verdicts, application, tokens, details, sizes),
    }


@dataclass(frozen=True, slots=True)
class _Sizes:
    """How large a proposal is as compact JSON, in characters.

    Attributes:
        chars: all of it.
        first_changed: index of its first changed message; null: none.
        chars_from_first_change: of that message and all that follow; null: none.
        chars_before: of the source, where it cannot be told from what was saved.
    """

    chars: int
    first_changed: int | None
    chars_from_first_change: int | None
    chars_before: int | None


def _measure(draft: Draft, first_changed: int | None, check: Callable[[], None]) -> _Sizes:
    if first_changed is None:
        return _Sizes(history_chars(draft.messages, check), None, None, None)
    head = history_chars(draft.messages[:first_changed], check)
    tail = history_chars(draft.messages[first_changed:], check)
    # Two lists have one pair of brackets more than one list, and lack the comma between them.
    chars = head + tail - 1 if first_changed else tail
    # Where a source is not its own view, replacing a text may change what stands around it.
    before = None if draft.view is draft.messages else history_chars(draft.source, check)
    return _Sizes(chars, first_changed, tail, before)


def _reason(
    decision_id: str, plan: Plan, verdict: Verdict | None, application: Application, *, within_budget: bool
) -> tuple[DecisionReason, str | None]:
    """Return a decision's reason, and the error behind it if there is one."""
    if decision_id in plan.protected:
        return "protected", None
    if within_budget:
        return "within_budget", None
    if plan.timed_out:
        return "timeout", "timeout"
    if decision_id in plan.unobserved:
        return "unobserved", plan.unobserved[decision_id]
    if decision_id not in plan.replacements:
        return "no_savings", None
    if decision_id in application.reasons:
        return application.reasons[decision_id], application.details.get(decision_id)
    if verdict is None:
        return "unobserved", None
    if verdict.reason is not None:
        return verdict.reason, verdict.detail
    return "needed_or_uncertain", None


def _result_reason(plan: Plan, *, changed: bool, budget_met: bool | None) -> ResultReason:
    if budget_met is False:
        return "budget_exceeded"
    if changed:
        return "compacted"
    return "no_change" if plan.candidates else "no_candidates"


def _stats(
    plan: Plan,
    verdicts: Verdicts,
    application: Application,
    tokens: TokenCounts,
    details: dict[str, str],
    sizes: "_Sizes",
) -> dict[str, Any]:
    chars_saved = sum(
        serialized_chars(_output_of(replacement.candidate.call.result)) - serialized_chars(replacement.preview)
        for replacement in application.applied
    )
    return {
        "messages_before": len(plan.request.messages),
        "messages_after": len(plan.request.messages),
        "chars_before": sizes.chars + chars_saved if sizes.chars_before is None else sizes.chars_before,
        "chars_after": sizes.chars,
        "tokens_before": tokens.before,
        "tokens_after": tokens.after,
        "candidates": len(plan.candidates),
        "protected": len(plan.protected),
        "state_tokens": plan.state_tokens,
        "requests": verdicts.requests,
        "usage": verdicts.usage,
        "elapsed_ms": 0,
        "asked": plan.asked,
        "protected_by": dict(Counter(plan.protected.values())),
        "details": details,
        "errors": list(verdicts.errors.values()),
        "warnings": [*plan.warnings, *verdicts.warnings, *_decision_warnings(plan, verdicts)],
        "explanations": {
            unit: verdict.explanation for unit, verdict in verdicts.by_unit.items() if verdict.explanation is not None
        },
        "token_counter": tokens.counter,
        "archived": _archived(application) if plan.has_archive else None,
        "first_changed_message": sizes.first_changed,
        "chars_from_first_change": sizes.chars_from_first_change,
        "tokens_from_first_change": tokens.from_first_change,
    }


def _archived(application: Application) -> dict[str, int]:
    """Return how much of what was replaced only the archive still holds whole."""
    texts = [
        replacement.candidate.text for replacement in application.applied if replacement.candidate.kept_by != "host"
    ]
    return {"results": len(texts), "chars": sum(map(len, texts))}


def _decision_warnings(plan: Plan, verdicts: Verdicts) -> list[str]:
    """Say in words what `errors` and `details` say in numbers: an outage is not an error, and not silent."""
    batches = plan.requests_needed
    warnings = [
        f"{error['batches']} of {batches} decision requests failed, their results are kept: {error['message']}"
        for error in verdicts.errors.values()
    ]
    invalid = sum(1 for verdict in verdicts.by_unit.values() if verdict.reason == "invalid_answer")
    if invalid:
        warnings.append(
            f"{invalid} of {plan.asked} answers of the decision model were missing or no probability; "
            "their results are kept."
        )
    return warnings


def _output_of(result: dict[str, Any] | None) -> Any:
    return result["output"] if result is not None else None
