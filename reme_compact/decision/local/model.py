"""The local decision model: pure arithmetic on one state, in a worker thread."""

from collections.abc import Callable
from functools import partial

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.lowlevel import RunVar

from reme_compact.decision.local.explanation import explain
from reme_compact.decision.local.features import measure
from reme_compact.decision.local.weights import fixed_weights
from reme_compact.decision.protocol import BinaryAnswer, DecisionResponse, Questions, State

_limiter: RunVar[anyio.CapacityLimiter] = RunVar("reme_compact_local_model")


class LocalDecisionModel:
    """Judges evidence by the words and identifiers it shares with the task and by what newer calls superseded.

    Needs no key, no network and no model file. It holds no state, so it can be called many times at once. The
    same state always gives the same probabilities. It reads no meaning: protect constraints and unique evidence
    explicitly, as with any decision model.

    Attributes:
        backend: "local".
        model_name: name and version of the weights.
    """

    backend: str = "local"
    model_name: str | None

    def __init__(self) -> None:
        self.model_name = f"overlap-{fixed_weights().version}"

    async def __call__(self, state: State, questions: Questions, /) -> DecisionResponse:
        """Answer each question whose name is the id of an evidence unit; other questions get no answer."""
        score = partial(judge, state, between_units=anyio.from_thread.check_cancelled)
        found = await anyio.to_thread.run_sync(score, abandon_on_cancel=True, limiter=_one_at_a_time())
        content = {name: found[name] for name in questions if name in found}
        return DecisionResponse(content=content, usage={"evidence_units": len(found)}, model=self.model_name)

    async def aclose(self) -> None:
        """Do nothing; there is nothing to release."""


def _one_at_a_time() -> anyio.CapacityLimiter:
    """Return this event loop's limiter: under one interpreter lock, more threads at once only get in the loop's way."""
    try:
        return _limiter.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(1)
        _limiter.set(limiter)
        return limiter


def judge(state: State, *, between_units: Callable[[], object] = lambda: None) -> dict[str, BinaryAnswer]:
    """Return, per id of an evidence unit, the probability that the unit is still needed, and why.

    Args:
        state: as the decision protocol describes it; missing or malformed parts count as absent.
        between_units: called again and again; may raise to end the work.
    """
    weights = fixed_weights()
    measured = measure(state, weights.match, between_units)
    return {
        unit_id: BinaryAnswer(weights.probability(features), explanation=explain(features, weights))
        for unit_id, features in measured.items()
    }


def probabilities(state: State) -> dict[str, float]:
    """Return, per id of an evidence unit, the probability that the unit is still needed."""
    return {unit_id: answer.probability for unit_id, answer in judge(state).items()}
