"""Everything that is known before the decision model is asked: pairs, protections, candidates, requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reme_compact.compaction.supervision import UNSUPERVISED, Supervision
from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.batching import Batch, pack_units
from reme_compact.decision.context import build_task_context
from reme_compact.decision.evidence import build_evidence_unit
from reme_compact.history.pairs import Pairing, ToolCall, pair_tool_blocks
from reme_compact.history.preview import is_certainly_shorter, is_shorter, preview_text
from reme_compact.history.protection import Candidate, ProtectionRules, unmatched_names
from reme_compact.history.recovery import SessionReferences
from reme_compact.history.supersession import find_supersession

_NAMED_AT_MOST = 10


class Replacement:
    """A candidate that can get shorter, and what would stand in its place.

    Attributes:
        candidate: the pair.
    """

    __slots__ = ("_preview", "_preview_chars", "candidate")

    def __init__(self, candidate: Candidate, preview_chars: int) -> None:
        self.candidate = candidate
        self._preview_chars = preview_chars
        self._preview: str | None = None

    @property
    def preview(self) -> str:
        """The text that would stand in its place; made when first asked for, since most of the work is before that."""
        if self._preview is None:
            self._preview = preview_text(self.candidate.text, self.candidate.source_ref, self._preview_chars)
        return self._preview

    @property
    def saved_chars(self) -> int:
        """Characters of text that the replacement saves."""
        return len(self.candidate.text) - len(self.preview)


@dataclass(slots=True)
class Plan:
    """What a compaction may do.

    Attributes:
        request: the request, its messages a snapshot.
        calls: every tool call with an id, in order.
        protected: per decision id, the rule that protects the pair.
        candidates: per decision id, the pairs that no rule protects.
        replacements: per decision id, the candidates that can get shorter.
        batches: the decision requests; empty again once they were scored.
        asked: number of candidates that the decision model is asked about.
        requests_needed: number of decision requests.
        state_tokens: estimated tokens of the largest state.
        unobserved: per decision id, why a replacement was not asked about.
        warnings: what a host should look into.
        timed_out: the time was up before the decision requests were ready.
        has_archive: results without a source ref are archived.
    """

    request: CompactionRequest
    calls: list[ToolCall]
    protected: dict[str, str] = field(default_factory=dict)
    candidates: dict[str, Candidate] = field(default_factory=dict)
    replacements: dict[str, Replacement] = field(default_factory=dict)
    batches: list[Batch] = field(default_factory=list)
    asked: int = 0
    requests_needed: int = 0
    state_tokens: int = 0
    unobserved: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    timed_out: bool = False
    has_archive: bool = False

    def protect(self, rules: Mapping[str, str]) -> None:
        """Keep pairs after all, by the rules that are given per decision id."""
        for decision_id, rule in rules.items():
            self.protected[decision_id] = rule
            self.candidates.pop(decision_id, None)
            self.replacements.pop(decision_id, None)


def plan_compaction(
    request: CompactionRequest,
    *,
    ask: bool,
    references: SessionReferences | None = None,
    supervision: Supervision = UNSUPERVISED,
) -> Plan:
    """Pair, protect and, when `ask` says that a decision is needed, pack the rest into decision requests.

    Args:
        request: the request.
        ask: whether a decision is needed.
        references: to the archive of the request's session; null: it has none.
        supervision: is asked again and again whether to go on.
    """
    # A host's source ref names a call by its id alone; the archive's references name contents.
    may_go_by_place = (lambda call_id: call_id not in request.source_refs) if references is not None else _never
    pairing = pair_tool_blocks(request.messages, may_go_by_place=may_go_by_place)
    plan = Plan(request, pairing.calls, has_archive=references is not None)
    plan.warnings.extend(_warnings(request, pairing))
    rules = ProtectionRules(request, pairing.calls, references)
    for call in pairing.calls:
        supervision.check()
        found = rules.check(call)
        if isinstance(found, Candidate):
            plan.candidates[call.id] = found
        else:
            plan.protected[call.id] = found
    if not ask or not plan.candidates:
        return plan
    for decision_id, candidate in plan.candidates.items():
        supervision.check()
        replacement = Replacement(candidate, request.options.preview_chars)
        if _can_get_shorter(replacement, request.options.preview_chars):
            plan.replacements[decision_id] = replacement
    _pack(plan, supervision)
    return plan


def _never(call_id: str) -> bool:
    del call_id
    return False


def _can_get_shorter(replacement: Replacement, preview_chars: int) -> bool:
    candidate = replacement.candidate
    if is_certainly_shorter(candidate.text, candidate.source_ref, preview_chars):
        return True
    return is_shorter(replacement.preview, candidate.text, candidate.call.result or {})


def _pack(plan: Plan, supervision: Supervision) -> None:
    """Turn replacements into decision requests, and say of the others why they are not asked about.

    When the time is up on the way, nothing is asked any more: its answer would come too late to count.
    """
    request = plan.request
    context = build_task_context(request)
    if context is None:
        plan.unobserved = dict.fromkeys(plan.candidates, "no_goal")
        plan.warnings.append(
            "Neither a goal, a next action nor a user text says what the agent is doing, so nothing was asked and "
            "every candidate is kept. Pass goal or next_action."
        )
        return
    superseded = find_supersession((item.candidate for item in plan.replacements.values()), plan.calls)
    units = []
    for decision_id, replacement in plan.replacements.items():
        supervision.check()
        if supervision.time_is_up():
            plan.timed_out = True
            plan.warnings.append(
                "total_timeout_seconds passed before anything could be asked; every candidate is kept."
            )
            return
        unit = build_evidence_unit(replacement.candidate, superseded.get(decision_id), request.options.evidence_chars)
        if unit is None:
            plan.unobserved[decision_id] = "lone_surrogate"
        else:
            units.append(unit)
    packing = pack_units(units, context, request.options, check=supervision.check)
    plan.batches = packing.batches
    plan.asked = sum(len(batch.unit_ids) for batch in packing.batches)
    plan.requests_needed = len(packing.batches)
    plan.state_tokens = max((batch.state_tokens for batch in packing.batches), default=0)
    plan.unobserved.update(dict.fromkeys(packing.oversized, "oversized"))
    if packing.oversized:
        plan.warnings.append(
            f"{len(packing.oversized)} results do not fit into a decision request alone and are kept. "
            "Lower evidence_chars, or raise max_state_tokens and max_request_tokens."
        )


def _warnings(request: CompactionRequest, pairing: Pairing) -> list[str]:
    warnings = [
        f"{field}: nothing in the history matches {_named(missing)}."
        for field, missing in unmatched_names(request, pairing.calls)
    ]
    if not request.eligible_tool_names and pairing.calls:
        warnings.append("eligible_tool_names is empty, so no tool result may be replaced.")
    if pairing.unknown_types:
        warnings.append(
            f"Blocks of types that are not AgentScope's are carried along unread: {_named(pairing.unknown_types)}."
        )
    if pairing.results_without_call:
        warnings.append(f"Tool results without a call: {_named(pairing.results_without_call)}.")
    if pairing.blocks_without_id:
        warnings.append(f"Tool calls or results without an id: {pairing.blocks_without_id}; they are left alone.")
    return warnings


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_NAMED_AT_MOST])
    more = len(names) - _NAMED_AT_MOST
    return f"{shown} and {more} more" if more > 0 else shown
