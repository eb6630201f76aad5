"""Whatever a decision model does, the rest goes on: one bad answer, one bad batch, one outage, no end at all."""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from compacting import ONE_UNIT_EACH, compact, reasons
from histories import history, request_for
from models import HangingModel, ScriptedModel, always

from reme_compact import BinaryAnswer, CompactContextStep, DecisionResponse
from reme_compact.decision import direct_scorer

pytestmark = pytest.mark.anyio


@dataclass
class OtherAnswer:
    probability: Any
    type: str = "binary_answer"


@pytest.mark.parametrize(
    "bad",
    [
        BinaryAnswer(math.nan),
        BinaryAnswer(math.inf),
        BinaryAnswer(1.5),
        BinaryAnswer(-0.1),
        OtherAnswer(True),
        OtherAnswer("0.01"),
        OtherAnswer(None),
        OtherAnswer(0.01, type="refusal_answer"),
        OtherAnswer(0.01, type="score_answer"),
        {"type": "binary_answer", "probability": "0"},
        0.01,
        "no",
        None,
    ],
)
async def test_one_bad_answer_spoils_only_its_own_unit(bad: Any) -> None:
    model = ScriptedModel(lambda unit: bad if unit["id"] == "t2" else BinaryAnswer(0.0))
    answer = await compact(model)
    assert reasons(answer) == ["low_relevance", "invalid_answer", "low_relevance"]
    assert answer["decisions"][1]["probability"] is None
    assert answer["messages"][2] == history(3)[2]


@pytest.mark.parametrize("good", [BinaryAnswer(0.01), {"type": "binary_answer", "probability": 0}, OtherAnswer(0.01)])
async def test_answers_may_be_objects_or_mappings(good: Any) -> None:
    assert reasons(await compact(ScriptedModel(lambda _unit: good))) == ["low_relevance"] * 3


async def test_answers_nobody_asked_for_are_ignored() -> None:
    async def talkative(state: Any, questions: Any) -> DecisionResponse:
        del state
        return DecisionResponse({**{name: BinaryAnswer(0.9) for name in questions}, "t99": BinaryAnswer(0.0)})

    assert reasons(await compact(talkative)) == ["needed_or_uncertain"] * 3


class StatusError(Exception):
    def __init__(self, status_code: int) -> None:
        super().__init__("secret message content")
        self.status_code = status_code


async def test_a_failed_batch_costs_only_its_own_units(caplog: pytest.LogCaptureFixture) -> None:
    async def fails_once(state: Any, questions: Any) -> Any:
        if "t2" in questions:
            raise StatusError(500)
        return await always(0.0)(state, questions)

    answer = await compact(fails_once, **ONE_UNIT_EACH)
    assert reasons(answer) == ["low_relevance", "model_error", "low_relevance"]
    (error,) = answer["stats"]["errors"]
    assert error["code"] == answer["stats"]["details"]["t2"] == "provider_error"
    assert error["batches"] == 1
    assert any("1 of 3" in warning for warning in answer["stats"]["warnings"])
    assert "secret" not in str(answer["stats"]) + caplog.text


@pytest.mark.parametrize("status", [401, 403])
async def test_refused_credentials_stop_further_batches(status: int) -> None:
    calls = 0

    async def refuses(state: Any, questions: Any) -> Any:
        nonlocal calls
        del state, questions
        calls += 1
        raise StatusError(status)

    answer = await compact(refuses, pairs=8, max_state_tokens=1500, max_concurrency=1)
    assert calls == answer["stats"]["requests"] == 1
    assert reasons(answer) == ["model_error"] * 8
    assert answer["stats"]["errors"][0]["batches"] == 8


@pytest.mark.parametrize("status", [400, 429, 500, 529])
async def test_other_failures_do_not_stop_further_batches(status: int) -> None:
    async def refuses(state: Any, questions: Any) -> Any:
        raise StatusError(status)

    answer = await compact(refuses, pairs=4, **ONE_UNIT_EACH)
    assert answer["stats"]["requests"] == 4


@pytest.mark.parametrize("response", [None, "garbage", 7, {"content": {}}, DecisionResponse(None)])  # type: ignore[arg-type]
async def test_a_response_without_answers_fails_its_batch(response: Any) -> None:
    async def garbage(state: Any, questions: Any) -> Any:
        return response

    answer = await compact(garbage)
    assert reasons(answer) == ["model_error"] * 3
    assert answer["stats"]["errors"][0]["code"] == "invalid_response"


async def test_a_model_that_returns_no_awaitable_is_reported() -> None:
    answer = await compact(lambda _state, _questions: {"content": {}})
    assert answer["stats"]["errors"][0]["code"] == "invalid_decision_model"


@pytest.mark.parametrize("usage", [object(), {"n": math.nan}, {1, 2}, b"x"])
async def test_a_usage_that_is_not_json_costs_no_answer(usage: Any) -> None:
    async def model(state: Any, questions: Any) -> DecisionResponse:
        return DecisionResponse({name: BinaryAnswer(0.0) for name in questions}, usage=usage)

    answer = await compact(model)
    assert reasons(answer) == ["low_relevance"] * 3
    assert answer["stats"]["usage"] == []
    assert any("usage" in warning for warning in answer["stats"]["warnings"])


async def test_no_more_than_max_concurrency_requests_are_in_flight() -> None:
    running, most = 0, 0
    full = asyncio.Event()

    async def model(state: Any, questions: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 2:
            full.set()
        await full.wait()
        running -= 1
        return await always(0.0)(state, questions)

    answer = await compact(model, pairs=6, **ONE_UNIT_EACH)
    assert most == 2
    assert answer["stats"]["requests"] == 6


async def test_what_did_not_answer_in_time_is_kept_and_what_did_counts() -> None:
    hanging = HangingModel()

    async def model(state: Any, questions: Any) -> Any:
        if "t1" in questions:
            return await always(0.0)(state, questions)
        return await hanging(state, questions)

    answer = await compact(model, pairs=4, total_timeout_seconds=0.5, **ONE_UNIT_EACH)
    assert reasons(answer) == ["low_relevance", "timeout", "timeout", "timeout"]
    assert hanging.cancelled == 2
    assert answer["stats"]["requests"] == 3
    assert answer["stats"]["errors"] == [
        {"code": "timeout", "message": "No answer within total_timeout_seconds.", "batches": 3}
    ]


async def test_an_answer_after_the_deadline_does_not_count() -> None:
    async def blocks_the_loop(state: Any, questions: Any) -> Any:
        time.sleep(0.3)  # noqa: ASYNC251 - a model that blocks is what this is about
        return await always(0.0)(state, questions)

    answer = await compact(blocks_the_loop, total_timeout_seconds=0.2)
    assert reasons(answer) == ["timeout"] * 3


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_scorer, "CANCELLATION_GRACE_SECONDS", 0.05)


class Stubborn:
    """Swallows every cancellation until released."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.release = asyncio.Event()
        self.ended = asyncio.Event()

    async def __call__(self, state: Any, questions: Any) -> DecisionResponse:
        self.asked.set()
        while not self.release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self.release.wait()
        self.ended.set()
        return DecisionResponse({name: BinaryAnswer(0.0) for name in questions})


@pytest.mark.usefixtures("short_grace")
async def test_a_request_that_will_not_end_is_abandoned_and_its_answer_discarded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stubborn = Stubborn()
    with caplog.at_level(logging.ERROR):
        answer = await compact(stubborn, total_timeout_seconds=0.2)
    assert reasons(answer) == ["timeout"] * 3
    assert "abandoned" in caplog.text
    stubborn.release.set()
    await stubborn.ended.wait()
    assert reasons(answer) == ["timeout"] * 3


@pytest.mark.usefixtures("short_grace")
@pytest.mark.parametrize("kind", [HangingModel, Stubborn])
async def test_cancellation_from_outside_propagates(kind: Callable[[], Any]) -> None:
    model = kind()
    task = asyncio.create_task(compact(model))
    await model.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    if isinstance(model, HangingModel):
        assert model.cancelled == 1
    else:
        model.release.set()
        await model.ended.wait()


async def test_cancellation_at_any_await_propagates_and_leaves_nothing_running() -> None:
    async def model(state: Any, questions: Any) -> Any:
        await asyncio.sleep(0)
        return await always(0.0)(state, questions)

    request = request_for(history(4), options=ONE_UNIT_EACH)
    for turns in range(12):
        task = asyncio.create_task(CompactContextStep(as_decision_model=model)(**request))
        for _ in range(turns):
            await asyncio.sleep(0)
        cancelled = task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass
        else:
            assert not cancelled
        others = {other for other in asyncio.all_tasks() if other.get_name() == "reme-compact-decision"}
        assert not others
    assert request["messages"] == history(4)


async def test_a_model_that_cancels_itself_is_a_failure_and_not_a_cancellation() -> None:
    async def cancels(state: Any, questions: Any) -> Any:
        raise asyncio.CancelledError

    answer = await compact(cancels)
    assert reasons(answer) == ["model_error"] * 3
    assert answer["stats"]["errors"][0]["code"] == "cancelled"


async def test_one_step_serves_many_awaits_at_once() -> None:
    together = asyncio.Event()
    waiting = 0

    async def model(state: Any, questions: Any) -> Any:
        nonlocal waiting
        waiting += 1
        if waiting == 2:
            together.set()
        await together.wait()
        return await always(0.0 if state["goal"] == "drop" else 0.9)(state, questions)

    step = CompactContextStep(as_decision_model=model)
    first, second = await asyncio.gather(
        step(**{**request_for(history(3)), "goal": "drop"}), step(**{**request_for(history(3)), "goal": "keep"})
    )
    assert reasons(first.answer) == ["low_relevance"] * 3
    assert reasons(second.answer) == ["needed_or_uncertain"] * 3


async def test_health_tells_how_the_last_request_went() -> None:
    answers = iter([always(0.0), None])

    async def model(state: Any, questions: Any) -> Any:
        chosen = next(answers)
        if chosen is None:
            raise StatusError(401)
        return await chosen(state, questions)

    step = CompactContextStep(as_decision_model=model)
    await step(**request_for(history(1)))
    assert step.health.last_request is not None
    assert step.health.last_request.worked
    await step(**request_for(history(1)))
    error = step.health.last_request.error
    assert error is not None
    assert error["code"] == "authentication_failed"


async def test_an_explanation_is_shown_for_what_has_a_probability() -> None:
    answers = {"t1": BinaryAnswer(0.0, explanation="seen again later"), "t2": BinaryAnswer(7.0, explanation="odd")}
    answer = await compact(ScriptedModel(lambda unit: answers.get(unit["id"])))
    assert answer["stats"]["explanations"] == {"t1": "seen again later"}
    assert answer["stats"]["details"] == {"t2": "not_a_probability", "t3": "no_answer"}
    assert any("2 of 3 answers" in warning for warning in answer["stats"]["warnings"])


async def test_an_outage_is_in_the_log_with_its_place_and_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(state: Any, questions: Any) -> Any:
        raise RuntimeError("secret message content")

    await compact(fails)
    await compact(HangingModel(), total_timeout_seconds=0.05)
    assert "RuntimeError at" in caplog.text
    assert "test_direct_scorer.py" in caplog.text
    assert "total_timeout_seconds" in caplog.text
    assert "secret" not in caplog.text
