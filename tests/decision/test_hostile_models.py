"""A decision model is a stranger's code: what it does to its arguments, or raises, reaches nothing else."""

from typing import Any

import pytest
from compacting import ONE_UNIT_EACH, compact, reasons
from histories import history, request_for
from models import always

from reme_compact import BinaryAnswer, CompactContextStep, DecisionResponse

pytestmark = pytest.mark.anyio


async def test_a_model_cannot_answer_for_units_it_was_not_asked_about() -> None:
    messages = history(4)
    messages[2]["content"][1]["output"] = "x" * 900 + "\ud800" + "y" * 900

    async def adds_questions(state: Any, questions: Any) -> DecisionResponse:
        for number in range(1, 5):
            questions.setdefault(f"t{number}", {})
        return DecisionResponse({unit: BinaryAnswer(0.0) for unit in questions})

    answer = (await CompactContextStep(as_decision_model=adds_questions)(**request_for(messages))).answer
    assert reasons(answer) == ["low_relevance", "unobserved", "low_relevance", "low_relevance"]
    assert answer["decisions"][1]["probability"] is None


async def test_a_model_that_answers_once_for_all_does_not_cover_for_failed_batches() -> None:
    async def first_for_all(state: Any, questions: Any) -> DecisionResponse:
        if "t1" not in questions:
            raise RuntimeError
        questions.clear()
        state["task_context"].append("mine")
        return DecisionResponse({f"t{number}": BinaryAnswer(0.0) for number in range(1, 5)})

    answer = await compact(first_for_all, pairs=4, **ONE_UNIT_EACH)
    assert reasons(answer) == ["low_relevance", "model_error", "model_error", "model_error"]


async def test_batches_do_not_see_what_a_model_did_to_another_ones_state() -> None:
    lengths = []

    async def appends(state: Any, questions: Any) -> Any:
        lengths.append(len(state["task_context"]))
        state["task_context"].append({"role": "user", "text": "mine"})
        return await always(0.0)(state, questions)

    await compact(appends, pairs=4, **ONE_UNIT_EACH)
    assert len(lengths) == 4
    assert len(set(lengths)) == 1


class TreacherousError(Exception):
    """Raises when it is looked at, as an exception of a stranger may."""

    @property
    def response(self) -> Any:
        raise RuntimeError("secret tool output")


@pytest.mark.parametrize(
    "error", [TreacherousError, SystemExit, GeneratorExit, BaseException, MemoryError, StopAsyncIteration]
)
async def test_whatever_a_model_raises_costs_its_own_batch_only(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    async def fails_once(state: Any, questions: Any) -> Any:
        if "t2" in questions:
            raise error
        return await always(0.0)(state, questions)

    answer = await compact(fails_once, **ONE_UNIT_EACH)
    assert reasons(answer) == ["low_relevance", "model_error", "low_relevance"]
    assert "secret" not in caplog.text + str(answer["stats"])


async def test_answers_without_any_probability_are_an_outage_for_readiness() -> None:
    async def empty(state: Any, questions: Any) -> DecisionResponse:
        return DecisionResponse({})

    step = CompactContextStep(as_decision_model=empty)
    await step(**request_for(history(2)))
    assert step.health.last_request is not None
    assert not step.health.last_request.worked
