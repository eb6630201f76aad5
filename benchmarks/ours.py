"""Run by our interpreter: one compaction with `reme_compact`."""

from benchmarks.cases import RunSpec
from benchmarks.counting import HostCounter
from benchmarks.driver import Answer, Compact, drive
from benchmarks.histories import Request
from benchmarks.instant import InstantModel
from reme_compact import AdditiveTokenCounter, CompactContextStep
from reme_compact.tokens.counters import TokenCounter


def make_compact(model: InstantModel, counter: HostCounter, spec: RunSpec) -> Compact:
    """Construct our step as a host does."""
    step = CompactContextStep(as_decision_model=model, token_counter=_token_counter(counter, spec))

    async def compact(request: Request) -> Answer:
        answer: Answer = (await step(**request)).answer
        return answer

    return compact


def _token_counter(counter: HostCounter, spec: RunSpec) -> TokenCounter | None:
    if spec.counter == "none":
        return None
    if spec.counter == "opaque":
        return counter.opaque()
    return AdditiveTokenCounter(counter.per_message(), count_block=counter.per_block())


if __name__ == "__main__":
    drive(make_compact)
