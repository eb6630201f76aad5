"""What makes a compaction fast, held without a clock: nothing is written, measured or counted twice."""

from typing import Any

import orjson
import pytest
from histories import history, request_for
from models import always

from reme_compact import AdditiveTokenCounter, CompactContextStep
from reme_compact.decision import batching, context
from reme_compact.history import sizes
from reme_compact.tokens import estimate

pytestmark = pytest.mark.anyio


class Writer:
    """Stands in for orjson and counts the bytes it writes."""

    def __init__(self) -> None:
        self.written = 0

    def dumps(self, value: Any) -> bytes:
        result = orjson.dumps(value)
        self.written += len(result)
        return result


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> Writer:
    counting = Writer()
    for module in (batching, context, sizes):
        monkeypatch.setattr(module, "orjson", counting)
    return counting


def size_of(pairs: int) -> int:
    return len(orjson.dumps(history(pairs)))


@pytest.mark.parametrize("pairs", [20, 400])
@pytest.mark.parametrize("budget", [None, 1])
async def test_a_history_is_written_once_to_be_measured_and_its_evidence_once_to_be_asked_about(
    writer: Writer, pairs: int, budget: int | None
) -> None:
    counter = AdditiveTokenCounter(lambda message: len(str(message["content"])))
    options = {} if budget is None else {"max_output_tokens": budget}
    step = CompactContextStep(as_decision_model=always(0.0), token_counter=counter)
    answer = (await step(**request_for(history(pairs), options=options))).answer
    assert answer["changed"]
    # Once for chars_before, once as evidence, once more for what was replaced, and a fixed amount of task context.
    assert writer.written < 3.5 * size_of(pairs) + 20_000


async def test_the_estimate_reads_each_piece_of_evidence_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    real = estimate._estimate_chunk

    def counting(parts: Any) -> list[int]:
        nonlocal read
        read += sum(map(len, parts))
        return real(parts)

    monkeypatch.setattr(estimate, "_estimate_chunk", counting)
    answer = (await CompactContextStep(as_decision_model=always(0.0))(**request_for(history(400)))).answer
    assert answer["stats"]["asked"] == 400
    assert read < 1.2 * size_of(400) + 20_000


async def test_requests_are_as_few_as_the_limits_allow() -> None:
    for pairs, most in ((20, 1), (100, 4), (400, 14)):
        model = always(0.0)
        answer = (await CompactContextStep(as_decision_model=model)(**request_for(history(pairs)))).answer
        assert answer["stats"]["requests"] == len(model.states) <= most
