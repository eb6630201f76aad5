"""What `/health` and `/ready` tell a watcher."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from importlib.metadata import version
from typing import Any, cast

import httpx
import pytest
from fastapi import FastAPI

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.errors import ErrorFields, StoreUnavailableError
from reme_compact.decision.health import LastRequest
from reme_compact.decision.protocol import BinaryAnswer, DecisionResponse
from reme_compact.jobs.clock import utc_now
from reme_compact.jobs.deployment import Deployment
from reme_compact.jobs.runner import MissingPart, Part
from reme_compact.presets.schema import Preset
from reme_compact.service.app import create_app
from reme_compact.service.readiness import readiness
from reme_compact.service.state import ServiceState

pytestmark = pytest.mark.anyio

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]
OUTAGE = ErrorFields(code="rate_limited", error="DecisionModelError", message="429", retryable=True)


async def test_health_says_alive_and_which_version(client: httpx.AsyncClient) -> None:
    answer = await client.get("/health")
    assert answer.status_code == 200
    assert answer.json() == {"status": "alive", "version": version("reme-compact")}


async def test_ready_before_anything_was_asked(client: httpx.AsyncClient) -> None:
    answer = await client.get("/ready")
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ready",
        "missing": [],
        "decision_model": {"backend": "scripted", "model": None},
        "last_request": None,
    }


async def test_ready_after_a_request_that_worked(
    scripted: Callable[..., Any], connect: Connect, noon: datetime
) -> None:
    step = scripted()
    step.health.worked(noon)
    async with connect(create_app(step=step.as_step)) as client:
        answer = await client.get("/ready")
    assert answer.status_code == 200
    assert answer.json()["status"] == "ready"
    assert answer.json()["last_request"] == {"worked": True, "at": "2026-11-30T12:00:00Z", "error": None}


async def test_degraded_after_a_request_that_failed(
    scripted: Callable[..., Any], connect: Connect, noon: datetime
) -> None:
    step = scripted()
    step.health.failed(noon, OUTAGE)
    async with connect(create_app(step=step.as_step)) as client:
        answer = await client.get("/ready")
        health = await client.get("/health")
    assert answer.status_code == 503
    assert answer.json()["status"] == "degraded"
    assert answer.json()["missing"] == [{"part": "decision_model", "message": "429"}]
    assert answer.json()["last_request"] == {"worked": False, "at": "2026-11-30T12:00:00Z", "error": OUTAGE}
    assert health.status_code == 200


async def test_an_outage_is_no_failure_of_the_request_and_shows_in_ready_until_it_is_over(
    connect: Connect, shrinkable: dict[str, Any]
) -> None:
    works = False

    async def model(_: Any, questions: Any) -> DecisionResponse:
        if not works:
            raise RuntimeError("a secret of the history")
        return DecisionResponse(content=dict.fromkeys(questions, BinaryAnswer(0.5)))

    async with connect(create_app(step=CompactContextStep(as_decision_model=model))) as client:
        kept = await client.post("/compact_context", json=shrinkable)
        degraded = await client.get("/ready")
        works = True
        await client.post("/compact_context", json=shrinkable)
        ready = await client.get("/ready")
    assert kept.status_code == 200
    assert [decision["reason"] for decision in kept.json()["answer"]["decisions"]] == ["model_error"]
    assert degraded.status_code == 503
    error = degraded.json()["last_request"]["error"]
    assert set(error) == set(ErrorFields.__annotations__)
    assert "secret" not in degraded.text
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")


class Parts:
    """A deployment and its runner that lack what a test says."""

    def __init__(self, missing: list[MissingPart] | StoreUnavailableError, last: LastRequest | None = None) -> None:
        self.runner = self
        self._missing = missing
        self._last = last

    async def missing(self) -> list[MissingPart]:
        if isinstance(self._missing, StoreUnavailableError):
            raise self._missing
        return self._missing

    async def last_decision_request(self) -> LastRequest | None:
        return self._last

    def describe_decision_model(self) -> dict[str, str | None]:
        return {"backend": "scripted", "model": "m"}


def state_with(deployment: Parts) -> ServiceState:
    return ServiceState(preset=Preset(), clock=utc_now, ready_deployment=cast("Deployment", deployment))


async def test_every_missing_part_is_named() -> None:
    parts: list[Part] = ["store", "jobs_worker", "scores_worker"]
    missing = [MissingPart(part, f"Start {part}.") for part in parts]
    now = await readiness(state_with(Parts(missing)))
    assert now.status == "degraded"
    assert [(found.part, found.message) for found in now.missing] == [(part, f"Start {part}.") for part in parts]
    assert now.last_request is None


async def test_a_failing_decision_model_is_named_beside_them_and_once(noon: datetime) -> None:
    last = LastRequest(worked=False, at=noon, error=OUTAGE)
    for told in ([], [MissingPart("decision_model", "Mend it.")]):
        now = await readiness(state_with(Parts([MissingPart("jobs_worker", "Start one."), *told], last)))
        assert [found.part for found in now.missing] == ["jobs_worker", "decision_model"]
        assert now.last_request is not None
        assert now.last_request.error is not None
        assert now.last_request.error.model_dump() == OUTAGE


async def test_a_store_that_cannot_be_asked_is_missing() -> None:
    now = await readiness(state_with(Parts(StoreUnavailableError("Redis cannot be reached."))))
    assert now.status == "degraded"
    assert [(found.part, found.message) for found in now.missing] == [("store", "Redis cannot be reached.")]
