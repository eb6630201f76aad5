"""What `/health` and `/ready` tell a watcher."""

from collections.abc import Callable
from datetime import datetime
from importlib.metadata import version
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.errors import ErrorFields
from reme_compact.decision.protocol import BinaryAnswer, DecisionResponse
from reme_compact.service.app import create_app

pytestmark = pytest.mark.anyio

Connect = Callable[[FastAPI], httpx.AsyncClient]
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
