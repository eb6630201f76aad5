"""The conformance suite of `Scorer`: every scorer passes all of it.

Subclass it in a test module and say how to make a scorer over a decision model. A scorer whose requests run elsewhere
may not cancel what is asked (`cancels_requests`).
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from execution_models import SteeredModel
from models import always

from reme_compact import DecisionResponse
from reme_compact.contract.errors import ErrorFields
from reme_compact.decision.batching import Batch
from reme_compact.decision.outcome import BatchOutcome
from reme_compact.decision.scorer import Report, Scorer, Scoring, report_to_nobody
from reme_compact.decision.verdicts import Verdict

ODD = ErrorFields(code="odd", error="OddError", message="It is odd.", retryable=False)


class StatusError(Exception):
    def __init__(self, status_code: int) -> None:
        super().__init__("secret message content")
        self.status_code = status_code


def batches(number: int) -> list[Batch]:
    """Return batches of two units each."""
    return [
        Batch(
            state={"goal": "g", "evidence_units": [{"id": unit, "result": unit} for unit in units]},
            unit_ids=list(units),
            state_tokens=1,
        )
        for units in ((f"t{2 * n}", f"t{2 * n + 1}") for n in range(number))
    ]


def answered(batch: Batch, probability: float) -> BatchOutcome:
    return BatchOutcome({unit: Verdict(probability) for unit in batch.unit_ids}, usage={"input_tokens": 1})


async def score(
    scorer: Scorer,
    asked: Sequence[Batch],
    *,
    max_concurrency: int = 2,
    seconds: float = 30,
    known: Mapping[str, BatchOutcome] | None = None,
    report: Report = report_to_nobody,
) -> Scoring:
    deadline = asyncio.get_running_loop().time() + seconds
    return await scorer.score(
        asked, max_concurrency=max_concurrency, deadline=deadline, known=known or {}, report=report
    )


class ScorerSuite:
    """Windows, deadlines, known outcomes, fatal errors, cancellation."""

    pytestmark = pytest.mark.anyio

    cancels_requests: bool = True
    asked_ahead: int = 0
    """How many batches may be asked about before whoever asked hears that a report failed."""

    async def make_scorer(self, model: Any) -> Scorer:
        """Return a scorer that asks a decision model."""
        raise NotImplementedError

    async def test_every_batch_comes_back(self) -> None:
        asked = batches(5)
        scoring = await score(await self.make_scorer(always(0.25)), asked)
        assert scoring.outcomes == {index: answered(batch, 0.25) for index, batch in enumerate(asked)}
        assert (scoring.requests, scoring.stopped_by, scoring.never_asked) == (5, None, set())

    async def test_nothing_to_ask_is_no_request(self) -> None:
        model = SteeredModel()
        scoring = await score(await self.make_scorer(model), [])
        assert (scoring.outcomes, scoring.requests, model.started) == ({}, 0, 0)

    async def test_the_window_is_full_and_never_fuller(self) -> None:
        model = SteeredModel()
        scoring = asyncio.create_task(score(await self.make_scorer(model), batches(7), max_concurrency=3))
        await model.until_started(3)
        for number in range(4, 8):
            assert model.started == number - 1
            model.allow(1)
            await model.until_started(number)
        model.allow(3)
        assert (await scoring).requests == 7
        assert model.most_running == 3

    async def test_a_slow_request_does_not_hold_the_others_up(self) -> None:
        slow = SteeredModel()

        async def model(state: Any, questions: Any) -> DecisionResponse:
            return await (slow if "t0" in questions else always(0.0))(state, questions)

        scoring = asyncio.create_task(score(await self.make_scorer(model), batches(6), seconds=2))
        assert set((await scoring).outcomes) == {1, 2, 3, 4, 5}

    async def test_what_is_known_is_not_asked_again(self) -> None:
        asked = batches(4)
        model = always(0.0)
        known = {asked[1].key(): answered(asked[1], 0.7), asked[3].key(): BatchOutcome(error=ODD)}
        reported: list[Batch] = []

        async def report(batch: Batch, outcome: BatchOutcome) -> None:
            reported.append(batch)

        scoring = await score(await self.make_scorer(model), asked, known=known, report=report)
        assert sorted(model.asked) == ["t0", "t1", "t4", "t5"]
        assert scoring.outcomes[1] == answered(asked[1], 0.7)
        assert scoring.outcomes[3] == BatchOutcome(error=ODD)
        assert scoring.requests == 4
        assert set(map(id, reported)) == {id(asked[0]), id(asked[2])}

    async def test_if_everything_is_known_nothing_is_asked(self) -> None:
        asked = batches(3)
        model = SteeredModel()
        known = {batch.key(): answered(batch, 0.7) for batch in asked}
        scoring = await score(await self.make_scorer(model), asked, known=known)
        assert (model.started, len(scoring.outcomes), scoring.never_asked) == (0, 3, set())

    async def test_the_deadline_ends_it_with_what_came(self) -> None:
        slow = SteeredModel()

        async def model(state: Any, questions: Any) -> DecisionResponse:
            return await (always(0.0) if "t0" in questions else slow)(state, questions)

        scoring = await score(await self.make_scorer(model), batches(5), seconds=1)
        assert set(scoring.outcomes) == {0}
        assert (scoring.requests, scoring.never_asked, scoring.stopped_by) == (3, {3, 4}, None)
        assert slow.started == 2

    async def test_after_the_deadline_nothing_is_asked(self) -> None:
        model = SteeredModel()
        scoring = await score(await self.make_scorer(model), batches(3), seconds=-1)
        assert (model.started, scoring.outcomes, scoring.never_asked) == (0, {}, {0, 1, 2})

    async def test_a_fatal_failure_stops_it(self) -> None:
        asked: list[Any] = []

        async def model(state: Any, questions: Any) -> DecisionResponse:
            asked.append(state)
            raise StatusError(401)

        scoring = await score(await self.make_scorer(model), batches(6), max_concurrency=1)
        assert len(asked) == scoring.requests == 1
        assert scoring.stopped_by is not None
        assert scoring.stopped_by["code"] == "authentication_failed"
        assert scoring.outcomes[0].fatal
        assert scoring.never_asked == {1, 2, 3, 4, 5}

    async def test_a_known_fatal_failure_stops_it_too(self) -> None:
        asked = batches(3)
        model = SteeredModel()
        known = {asked[0].key(): BatchOutcome(error=ODD, fatal=True)}
        scoring = await score(await self.make_scorer(model), asked, known=known)
        assert (model.started, scoring.stopped_by, scoring.never_asked) == (0, ODD, {1, 2})

    async def test_any_other_failure_is_its_own_batchs(self) -> None:
        async def model(state: Any, questions: Any) -> DecisionResponse:
            if "t2" in questions:
                raise StatusError(500)
            return await always(0.0)(state, questions)

        scoring = await score(await self.make_scorer(model), batches(4))
        errors = {index: outcome.error for index, outcome in scoring.outcomes.items() if outcome.error is not None}
        assert set(scoring.outcomes) == {0, 1, 2, 3}
        assert set(errors) == {1}
        assert "secret" not in str(errors)
        assert scoring.stopped_by is None

    async def test_cancellation_propagates_and_ends_what_is_asked(self) -> None:
        model = SteeredModel()
        scoring = asyncio.create_task(score(await self.make_scorer(model), batches(5)))
        await model.until_started(2)
        scoring.cancel()
        with pytest.raises(asyncio.CancelledError):
            await scoring
        model.allow(5)
        assert model.started == 2
        if self.cancels_requests:
            assert (model.cancelled, model.running) == (2, 0)

    async def test_one_scorer_serves_many_at_once(self) -> None:
        scorer = await self.make_scorer(always(0.5))
        for scoring in await asyncio.gather(*(score(scorer, batches(4)) for _ in range(5))):
            assert set(scoring.outcomes) == {0, 1, 2, 3}

    async def kept(self, asked: Sequence[Batch], reported: Sequence[Batch]) -> int:
        """Return how many outcomes would outlive this process; whoever is reported to keeps them, unless overridden."""
        del asked
        return len(reported)

    async def test_each_outcome_is_kept_before_its_place_is_given_on(self) -> None:
        asked = batches(3)
        reported: list[Batch] = []
        kept_before: list[int] = []

        async def model(state: Any, questions: Any) -> DecisionResponse:
            kept_before.append(await self.kept(asked, reported))
            return await always(0.0)(state, questions)

        async def report(batch: Batch, outcome: BatchOutcome) -> None:
            for _ in range(5):
                await asyncio.sleep(0)
            assert set(outcome.verdicts) == set(batch.unit_ids)
            reported.append(batch)

        await score(await self.make_scorer(model), asked, max_concurrency=1, report=report)
        assert reported == asked
        assert kept_before == [0, 1, 2]

    async def test_a_report_that_fails_ends_it(self) -> None:
        async def report(batch: Batch, outcome: BatchOutcome) -> None:
            raise LookupError

        model = SteeredModel(allowed=1)
        with pytest.raises(LookupError):
            await score(await self.make_scorer(model), batches(5), max_concurrency=1, report=report)
        assert 1 <= model.started <= 1 + self.asked_ahead
