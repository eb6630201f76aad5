"""The core: plan, have the batches scored by whoever does that, decide and propose."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from reme_compact.compaction.counter_choice import CounterChoice, describe_counter
from reme_compact.compaction.counting import DraftCount, count_draft
from reme_compact.compaction.originals import Originals
from reme_compact.compaction.originals_choice import OriginalsChoice
from reme_compact.compaction.plan import Plan, plan_compaction
from reme_compact.compaction.progress import NoProgress, Progress
from reme_compact.compaction.proposal import TokenCounts, build_answer
from reme_compact.compaction.ranking import (
    Application,
    apply_within_budget,
    droppable,
    rank_replacements,
    take_back,
)
from reme_compact.compaction.supervision import Supervision, supervised
from reme_compact.contract.options import CompactionOptions
from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.result import Response
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.decision.scorer import Scorer, collect_verdicts
from reme_compact.decision.verdicts import Verdicts
from reme_compact.history.draft import Draft
from reme_compact.history.formats.foreign_draft import draft_of
from reme_compact.history.formats.gate import check_proposal
from reme_compact.history.formats.opening import OpenedHistory, open_history
from reme_compact.tokens.counters import TokenCounter

_log = logging.getLogger(__name__)
_UNWATCHED = NoProgress()


@dataclass(slots=True)
class _Prepared:
    """A compaction up to the point where the decision model is asked."""

    history: OpenedHistory
    plan: Plan
    draft: Draft
    counter: TokenCounter | None
    count: DraftCount | None
    originals: Originals


class Compactor:
    """Makes proposals with one scorer, one choice of token counters and one of archives.

    Pure work, the archive and the host's token counter run in a worker thread, one call at a time per compaction, so
    the event loop stays free; the scorer is awaited on the loop. One instance may be used many times at once.
    """

    def __init__(self, scorer: Scorer, counters: CounterChoice, originals: OriginalsChoice | None = None) -> None:
        self._scorer = scorer
        self._counters = counters
        self._originals = originals or OriginalsChoice()

    def check(self, request: CompactionRequest) -> None:
        """Refuse, before anything is done, what `compact` would refuse a validated request for.

        Raises:
            InvalidRequestError: the request needs a token counter or an archive that there is not, or its messages are
                not what their format allows.
        """
        open_history(request)
        self._counters.check(request)
        self._originals.check(request)

    async def compact(
        self,
        get_request: Callable[[], CompactionRequest],
        *,
        started: float | None = None,
        known: Mapping[str, BatchOutcome] | None = None,
        progress: Progress = _UNWATCHED,
        owner: str = "",
    ) -> Response:
        """Propose a smaller history.

        Args:
            get_request: returns the request; it runs in a worker thread, so it may parse.
            started: the time of the running event loop from which `total_timeout_seconds` counts; null: now.
            known: outcomes of an earlier attempt by `Batch.key()`; they are not asked for again.
            progress: is told how far it has come.
            owner: who owns the session whose originals are archived; empty: nobody in particular.

        Raises:
            InvalidRequestError: the request breaks the contract, or needs a token counter or an archive that there is
                not.
            InvalidProposalError: the proposal would break a rule of the history's provider that the history keeps.
            TokenCounterError: the token counter failed.
            ConfigurationError: a registered token counter cannot be built, for instance for want of an extra.
        """
        loop = asyncio.get_running_loop()
        if started is None:
            started = loop.time()
        prepared = await supervised(partial(self._prepare, get_request, started, loop.time, owner))
        plan = prepared.plan
        batches = plan.batches
        await progress.planned(candidates=len(plan.candidates), asked=plan.asked, batches=len(batches))
        verdicts = Verdicts()
        if batches:
            scoring = await self._scorer.score(
                batches,
                max_concurrency=plan.request.options.max_concurrency,
                deadline=started + plan.request.options.total_timeout_seconds,
                known=known or {},
                report=progress.scored,
            )
            verdicts = collect_verdicts(batches, scoring)
            batches.clear()  # the evidence is not needed any more, and it is as large as the previews will be
        await progress.deciding()
        try:
            answer = await supervised(partial(_finish, prepared, verdicts))
        except asyncio.CancelledError:
            prepared.originals.abandon()
            raise
        stats = answer["stats"]
        stats["elapsed_ms"] = round((loop.time() - started) * 1000)
        _log.debug("Compaction: %s, %d candidates, %d asked", answer["reason"], stats["candidates"], stats["asked"])
        return Response(answer=answer, metadata={"compaction": stats})

    def _prepare(
        self,
        get_request: Callable[[], CompactionRequest],
        started: float,
        now: Callable[[], float],
        owner: str,
        check: Callable[[], None],
    ) -> _Prepared:
        request = get_request()
        deadline = started + request.options.total_timeout_seconds
        history = open_history(request)
        draft = draft_of(history)
        counter = self._counters.for_request(request)
        originals = self._originals.for_request(request, owner)
        count = count_draft(counter, draft, check) if counter is not None else None
        budget = request.options.max_output_tokens
        fits = budget is not None and count is not None and count.total <= budget
        supervision = Supervision(check, lambda: now() >= deadline)
        if not history.is_own_view:
            request = request.model_copy(update={"messages": history.view})
        plan = plan_compaction(request, ask=not fits, references=originals.references, supervision=supervision)
        if originals.is_unused and (number := sum(rule == "no_source_ref" for rule in plan.protected.values())):
            plan.warnings.append(
                f"{number} results have no source ref and are kept, and the archive is not used: the request names no "
                "session. Pass archive={'session': ...}."
            )
        return _Prepared(history, plan, draft, counter, count, originals)


def _finish(prepared: _Prepared, verdicts: Verdicts, check: Callable[[], None]) -> dict[str, Any]:
    originals = prepared.originals
    try:
        answer = _propose(prepared, verdicts, check)
        originals.hand_over()
    except BaseException:
        originals.give_up()
        raise
    return answer


def _propose(prepared: _Prepared, verdicts: Verdicts, check: Callable[[], None]) -> dict[str, Any]:
    plan, draft = prepared.plan, prepared.draft
    options = plan.request.options
    budget = options.max_output_tokens
    before = prepared.count.total if prepared.count is not None else None
    rules, warnings = prepared.originals.secure(droppable(plan, verdicts), check)
    plan.protect(rules)
    plan.warnings.extend(warnings)
    ranked = rank_replacements(plan, verdicts)
    count = prepared.count if budget is not None else None
    application = apply_within_budget(ranked, draft, count, _target(options, before), check)
    after = _tokens_after(prepared.count, application, check, has_budget=budget is not None)
    if _saves_too_little(options.min_saved_tokens, before, after):
        application = take_back(application, draft)
        after = before
    prepared.originals.settle(application.applied)
    texts = {replacement.candidate.result_at: replacement.preview for replacement in application.applied}
    check_proposal(prepared.history, draft.messages, texts)
    counter = describe_counter(prepared.counter) if prepared.counter is not None else None
    first = min((message for message, _ in texts), default=None)
    from_first = prepared.count.tokens_from(first) if prepared.count is not None and first is not None else None
    tokens = TokenCounts(before, after, budget, counter, from_first_change=from_first)
    answer = build_answer(plan, verdicts, application, draft, tokens, check)
    answer["stats"]["format"] = prepared.history.format.name
    return answer


def _target(options: CompactionOptions, before: int | None) -> int | None:
    """Return down to how many tokens results are replaced: the budget, or less where that would save too little."""
    if options.max_output_tokens is None or options.min_saved_tokens is None or before is None:
        return options.max_output_tokens
    return min(options.max_output_tokens, before - options.min_saved_tokens)


def _saves_too_little(minimum: int | None, before: int | None, after: int | None) -> bool:
    return minimum is not None and before is not None and after is not None and before - after < minimum


def _tokens_after(
    count: DraftCount | None, application: Application, check: Callable[[], None], *, has_budget: bool
) -> int | None:
    """Return the tokens of the proposal; with a budget they were kept up to date on the way."""
    if count is None:
        return None
    if has_budget or not application.applied:
        return count.total
    return count.recount((replacement.candidate.result_at for replacement in application.applied), check)
