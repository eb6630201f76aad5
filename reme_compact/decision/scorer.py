"""Who scores the batches of a compaction: the seam between the core and wherever the decision model runs."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from reme_compact.contract.errors import DecisionModelError, ErrorFields
from reme_compact.decision.batching import Batch
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.decision.verdicts import Verdicts

Report: TypeAlias = Callable[[Batch, BatchOutcome], Awaitable[None]]
"""Is told of each batch that was scored, in the order in which they end."""

TIMED_OUT = DecisionModelError("No answer within total_timeout_seconds.", code="timeout").fields()

_log = logging.getLogger(__name__)


async def report_to_nobody(batch: Batch, outcome: BatchOutcome) -> None:
    """Report of a scorer that nobody watches."""
    del batch, outcome


@dataclass(slots=True)
class Scoring:
    """What a scorer brought back by the deadline.

    Attributes:
        outcomes: by index of the batch; a batch that was not scored in time is not there.
        requests: decision requests that were sent.
        stopped_by: the fatal error after which nothing more was asked.
        never_asked: indexes of batches that were not sent to the decision model.
    """

    outcomes: dict[int, BatchOutcome] = field(default_factory=dict)
    requests: int = 0
    stopped_by: ErrorFields | None = None
    never_asked: set[int] = field(default_factory=set)


class Scorer(Protocol):
    """Scores batches: on the spot (`DirectScorer`), or through a queue.

    At most `max_concurrency` batches are at the decision model at once. Nothing a decision model does raises;
    cancellation from outside propagates when no request is in flight any more.
    """

    async def score(
        self,
        batches: Sequence[Batch],
        *,
        max_concurrency: int,
        deadline: float,
        known: Mapping[str, BatchOutcome],
        report: Report,
    ) -> Scoring:
        """Score batches until the deadline.

        Args:
            batches: the decision requests.
            max_concurrency: how many may be at the decision model at once.
            deadline: a time of the running event loop; an answer that comes later does not count.
            known: outcomes by `Batch.key()`; such a batch is not asked about again, nor reported.
            report: is awaited after each batch; its outcome is recorded before its place is given to the next one, here
                or by whoever asked.
        """


def collect_verdicts(batches: Sequence[Batch], scoring: Scoring) -> Verdicts:
    """Turn outcomes into verdicts, with a reason for every unit whose batch has none."""
    verdicts = Verdicts(requests=scoring.requests)
    for index, batch in enumerate(batches):
        outcome = scoring.outcomes.get(index)
        if outcome is None:
            _account_for_missing(verdicts, batch, scoring, index)
        elif outcome.error is not None:
            verdicts.fail(batch.unit_ids, "model_error", outcome.error)
        else:
            verdicts.by_unit.update(outcome.verdicts)
        if outcome is not None and outcome.usage is not None:
            verdicts.usage.append(outcome.usage)
        if outcome is not None and outcome.warning is not None and outcome.warning not in verdicts.warnings:
            verdicts.warnings.append(outcome.warning)
    return verdicts


def _account_for_missing(verdicts: Verdicts, batch: Batch, scoring: Scoring, index: int) -> None:
    if scoring.stopped_by is not None and index in scoring.never_asked:
        verdicts.fail(batch.unit_ids, "model_error", scoring.stopped_by)
        return
    verdicts.fail(batch.unit_ids, "timeout", TIMED_OUT)
    _log.warning("A decision request failed: %s (%s)", TIMED_OUT["message"], TIMED_OUT["code"])
