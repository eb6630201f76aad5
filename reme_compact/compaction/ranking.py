"""Which results to replace, in which order, and when to stop."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from reme_compact.compaction.counting import DraftCount
from reme_compact.compaction.plan import Plan, Replacement
from reme_compact.contract.result import DecisionReason
from reme_compact.decision.verdicts import Verdicts
from reme_compact.history.draft import Draft

TOO_LITTLE: DecisionReason = "no_savings"


@dataclass(slots=True)
class Application:
    """What became of the ranked replacements.

    Attributes:
        applied: replacements that stand in the draft, in the order of application.
        reasons: per decision id of a ranked replacement, how it ended.
        details: per decision id, more about that, where there is more to say.
    """

    applied: list[Replacement] = field(default_factory=list)
    reasons: dict[str, DecisionReason] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)


def droppable(plan: Plan, verdicts: Verdicts) -> list[Replacement]:
    """Return the replacements that are clearly not needed, in the order of the history."""
    return [replacement for _, replacement in _droppable(plan, verdicts)]


def rank_replacements(plan: Plan, verdicts: Verdicts) -> list[Replacement]:
    """Return the replacements that are clearly not needed, least needed first.

    Equal probabilities go by larger saving, then by position in the history.
    """
    ranked = [
        (probability, -replacement.saved_chars, position, replacement)
        for position, (probability, replacement) in enumerate(_droppable(plan, verdicts))
    ]
    ranked.sort(key=lambda item: item[:3])
    return [item[3] for item in ranked]


def _droppable(plan: Plan, verdicts: Verdicts) -> Iterator[tuple[float, Replacement]]:
    for decision_id, replacement in plan.replacements.items():
        verdict = verdicts.by_unit.get(decision_id)
        probability = verdict.probability if verdict else None
        if probability is not None and probability <= plan.request.options.drop_threshold:
            yield probability, replacement


def apply_within_budget(
    ranked: list[Replacement],
    draft: Draft,
    count: DraftCount | None,
    budget: int | None,
    check: Callable[[], None] = lambda: None,
) -> Application:
    """Replace in order until the budget is met; without a budget, replace all.

    A replacement that does not lower the count is undone. `check` is called before each and may raise.

    Raises:
        TokenCounterError: a host's counter failed.
    """
    application = Application()
    for replacement in ranked:
        check()
        decision_id = replacement.candidate.call.id
        if count is not None and budget is not None and count.total <= budget:
            application.reasons[decision_id] = "within_budget"
            continue
        at = replacement.candidate.result_at
        draft.replace_output(at, replacement.preview)
        if count is not None:
            total = count.after(at)
            if total >= count.total:
                draft.restore(at)
                application.reasons[decision_id] = "no_savings"
                continue
            count.settle(total)
        application.applied.append(replacement)
        application.reasons[decision_id] = "low_relevance"
    return application


def take_back(application: Application, draft: Draft) -> Application:
    """Undo everything, since all of it together saves too little to be worth a changed history."""
    for replacement in application.applied:
        draft.restore(replacement.candidate.result_at)
    undone = [replacement.candidate.call.id for replacement in application.applied]
    reasons = {**application.reasons, **dict.fromkeys(undone, TOO_LITTLE)}
    return Application([], reasons, dict.fromkeys(undone, "min_saved_tokens"))
