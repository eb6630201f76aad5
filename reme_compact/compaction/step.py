"""The step that a host awaits."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from reme_compact.compaction.counter_choice import CounterChoice, TokenCounterFactory, describe_counter
from reme_compact.compaction.counting import DraftCount, count_draft
from reme_compact.compaction.plan import Plan, plan_compaction
from reme_compact.compaction.proposal import TokenCounts, build_answer
from reme_compact.compaction.ranking import Application, apply_within_budget, rank_replacements
from reme_compact.compaction.supervision import Supervision, supervised
from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.result import Response
from reme_compact.decision.health import DecisionModelHealth
from reme_compact.decision.injection import accept_decision_model, describe
from reme_compact.decision.protocol import DecisionModel, OwnedDecisionModel
from reme_compact.decision.scoring import BatchScoring
from reme_compact.decision.verdicts import Verdicts
from reme_compact.history.draft import Draft, snapshot
from reme_compact.tokens.counters import TokenCounter

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Prepared:
    """A compaction up to the point where the decision model is asked."""

    plan: Plan
    draft: Draft
    counter: TokenCounter | None
    count: DraftCount | None


class CompactContextStep:
    """Proposes a smaller history: `response = await step(messages=..., goal=..., ...)`.

    One instance may be awaited many times at once. Pure work and the host's token counter run in a worker thread,
    one call at a time per compaction, so the event loop stays free; the decision model is awaited on the loop.

    Args:
        as_decision_model: `"local"`, an AgentScope classifier, or anything awaitable as `model(state, questions)`
            (see `reme_compact.decision.protocol`). It is borrowed: never closed unless `owns_decision_model`.
        token_counter: the host's own counter, a function over the messages, an `AdditiveTokenCounter`, or the name
            of a built-in one such as `"estimate"`; it is called only when a request sets `max_output_tokens`.
        token_counters: factories of registered counters, by the name that a request may use.
        default_token_counter: the registered counter for requests that name none.
        owns_decision_model: close the decision model when the step is closed.

    Raises:
        TypeError: `as_decision_model` cannot be awaited as a decision model, or `token_counter` is no counter.
    """

    def __init__(
        self,
        *,
        as_decision_model: DecisionModel | Literal["local"] = "local",
        token_counter: TokenCounter | str | None = None,
        token_counters: Mapping[str, TokenCounterFactory] | None = None,
        default_token_counter: str | None = None,
        owns_decision_model: bool = False,
    ) -> None:
        self._model = accept_decision_model(as_decision_model)
        self._owns_decision_model = owns_decision_model or isinstance(as_decision_model, str)
        self._counters = CounterChoice(token_counter, token_counters or {}, default_token_counter)
        self.health = DecisionModelHealth()

    async def __call__(self, /, **values: Any) -> Response:
        """Propose a smaller history for a request given as its keys (see `CompactionRequest`).

        The history may be appended to meanwhile; its blocks must not be changed until this returns.

        Raises:
            InvalidRequestError: the request breaks the contract.
            TokenCounterError: the token counter failed.
            ConfigurationError: a registered token counter cannot be built, for instance for want of an extra.
        """
        if "messages" in values:
            values["messages"] = snapshot(values["messages"])
        return await self._compact(lambda: CompactionRequest.parse(values))

    async def run(self, request: CompactionRequest) -> Response:
        """Propose a smaller history for a validated request.

        Raises:
            InvalidRequestError: the request needs a token counter that there is not.
            TokenCounterError: the token counter failed.
        """
        return await self._compact(lambda: request)

    def describe_decision_model(self) -> dict[str, str | None]:
        """Return backend and model name of the decision model."""
        return describe(self._model)

    async def aclose(self) -> None:
        """Close the decision model if the step owns it."""
        if self._owns_decision_model and isinstance(self._model, OwnedDecisionModel):
            await self._model.aclose()

    async def _compact(self, get_request: Callable[[], CompactionRequest]) -> Response:
        loop = asyncio.get_running_loop()
        started = loop.time()
        prepared = await supervised(partial(self._prepare, get_request, started, loop.time))
        request = prepared.plan.request
        verdicts = Verdicts()
        if prepared.plan.packing.batches:
            scoring = BatchScoring(
                self._model,
                prepared.plan.packing.batches,
                deadline=started + request.options.total_timeout_seconds,
                health=self.health,
                now=_utc_now,
            )
            verdicts = await scoring.run(request.options.max_concurrency)
        answer = await supervised(partial(_finish, prepared, verdicts))
        stats = answer["stats"]
        stats["elapsed_ms"] = round((loop.time() - started) * 1000)
        _log.debug("Compaction: %s, %d candidates, %d asked", answer["reason"], stats["candidates"], stats["asked"])
        return Response(answer=answer, metadata={"compaction": stats})

    def _prepare(
        self,
        get_request: Callable[[], CompactionRequest],
        started: float,
        now: Callable[[], float],
        check: Callable[[], None],
    ) -> _Prepared:
        request = get_request()
        deadline = started + request.options.total_timeout_seconds
        draft = Draft(request.messages)
        counter = self._counters.for_request(request)
        count = count_draft(counter, draft, check) if counter is not None else None
        budget = request.options.max_output_tokens
        fits = budget is not None and count is not None and count.total <= budget
        supervision = Supervision(check, lambda: now() >= deadline)
        return _Prepared(plan_compaction(request, ask=not fits, supervision=supervision), draft, counter, count)


def _finish(prepared: _Prepared, verdicts: Verdicts, check: Callable[[], None]) -> dict[str, Any]:
    plan, draft = prepared.plan, prepared.draft
    budget = plan.request.options.max_output_tokens
    before = prepared.count.total if prepared.count is not None else None
    ranked = rank_replacements(plan, verdicts)
    count = prepared.count if budget is not None else None
    application = apply_within_budget(ranked, draft, count, budget, check)
    after = _tokens_after(prepared.count, application, check, has_budget=budget is not None)
    counter = describe_counter(prepared.counter) if prepared.counter is not None else None
    tokens = TokenCounts(before=before, after=after, budget=budget, counter=counter)
    return build_answer(plan, verdicts, application, draft, tokens, check)


def _tokens_after(
    count: DraftCount | None, application: Application, check: Callable[[], None], *, has_budget: bool
) -> int | None:
    """Return the tokens of the proposal; with a budget they were kept up to date on the way."""
    if count is None:
        return None
    if has_budget or not application.applied:
        return count.total
    return count.recount((replacement.candidate.result_at for replacement in application.applied), check)


def _utc_now() -> datetime:
    return datetime.now(UTC)
