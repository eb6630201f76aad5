"""The step that a host awaits."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from reme_compact.archive.archive import Archive
from reme_compact.compaction.compactor import Compactor
from reme_compact.compaction.counter_choice import CounterChoice, TokenCounterFactory
from reme_compact.compaction.originals_choice import OriginalsChoice
from reme_compact.compaction.progress import NoProgress, Progress
from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.result import Response
from reme_compact.decision.direct_scorer import DirectScorer
from reme_compact.decision.health import DecisionModelHealth
from reme_compact.decision.injection import accept_decision_model, describe
from reme_compact.decision.protocol import DecisionModel, OwnedDecisionModel
from reme_compact.history.draft import snapshot
from reme_compact.tokens.counters import TokenCounter

_UNWATCHED = NoProgress()


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
        archive: keeps originals for requests with the key `archive`: an `Archive`, a directory, or a URL.
        archive_session: the session of requests without that key; null: those use no archive.
        resolve: tells of a host's source ref whether an original is found under it, from a worker thread and for
            several at once; what is not found is kept. Null: the host is believed.

    Raises:
        TypeError: `as_decision_model` cannot be awaited as a decision model, `token_counter` is no counter, or
            `resolve` no synchronous function.
        ConfigurationError: there can be no archive at this place.
    """

    def __init__(
        self,
        *,
        as_decision_model: DecisionModel | Literal["local"] = "local",
        token_counter: TokenCounter | str | None = None,
        token_counters: Mapping[str, TokenCounterFactory] | None = None,
        default_token_counter: str | None = None,
        owns_decision_model: bool = False,
        archive: Archive | str | None = None,
        archive_session: str | None = None,
        resolve: Callable[[str], bool] | None = None,
    ) -> None:
        self._model = accept_decision_model(as_decision_model)
        self._owns_decision_model = owns_decision_model or isinstance(as_decision_model, str)
        self.health = DecisionModelHealth()
        originals = OriginalsChoice(archive, archive_session, resolve)
        self.archive = originals.archive
        self._compactor = Compactor(
            DirectScorer(self._model, self.health, _utc_now),
            CounterChoice(token_counter, token_counters or {}, default_token_counter),
            originals,
        )

    @property
    def compactor(self) -> Compactor:
        """Makes the proposals, for whoever keeps a record of them."""
        return self._compactor

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
        return await self._compactor.compact(lambda: CompactionRequest.parse(values))

    async def run(
        self,
        request: CompactionRequest,
        *,
        started: float | None = None,
        progress: Progress = _UNWATCHED,
        owner: str = "",
    ) -> Response:
        """Propose a smaller history for a validated request.

        Args:
            request: the request.
            started: the time of the running event loop from which `total_timeout_seconds` counts; null: now.
            progress: is told how far it has come.
            owner: who owns the session whose originals are archived; empty: nobody in particular.

        Raises:
            InvalidRequestError: the request needs a token counter or an archive that there is not.
            TokenCounterError: the token counter failed.
        """
        return await self._compactor.compact(lambda: request, started=started, progress=progress, owner=owner)

    def describe_decision_model(self) -> dict[str, str | None]:
        """Return backend and model name of the decision model."""
        return describe(self._model)

    async def aclose(self) -> None:
        """Close the decision model if the step owns it."""
        if self._owns_decision_model and isinstance(self._model, OwnedDecisionModel):
            await self._model.aclose()


def _utc_now() -> datetime:
    return datetime.now(UTC)
