"""Run by the peer's interpreter: one compaction with `reme-ai`, used as an embedding host uses it.

Its step is constructed with a decision model component and a token counter, and awaited with the request's keys; it
makes its own runtime context from them.
"""

from collections.abc import Mapping
from typing import Any

from reme.components.as_decision_model import BaseAsDecisionModel  # type: ignore[import-not-found]
from reme.steps.compaction import CompactContextStep  # type: ignore[import-not-found]

from benchmarks.cases import RunSpec
from benchmarks.counting import HostCounter
from benchmarks.driver import Answer, Compact, drive
from benchmarks.histories import Request
from benchmarks.instant import InstantModel, InstantResponse


class InstantComponent(BaseAsDecisionModel):  # type: ignore[misc]
    """The instant decision model as one of the peer's components."""

    def __init__(self, model: InstantModel) -> None:
        super().__init__()
        self._instant = model

    async def __call__(self, state: Any, questions: Mapping[str, Any]) -> InstantResponse:
        """Answer without looking."""
        return await self._instant(state, questions)


def make_compact(model: InstantModel, counter: HostCounter, spec: RunSpec) -> Compact:
    """Construct the peer's step; it knows no other counter than a function over the whole history."""
    counting = {} if spec.counter == "none" else {"token_counter": counter.opaque()}
    step = CompactContextStep(as_decision_model=InstantComponent(model), **counting)

    async def compact(request: Request) -> Answer:
        answer: Answer = (await step(**request)).answer
        return answer

    return compact


if __name__ == "__main__":
    drive(make_compact)
