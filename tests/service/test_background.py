"""What the service does on its own."""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any

import anyio
import httpx
import pytest
from fastapi import FastAPI

from reme_compact.contract.errors import ErrorFields
from reme_compact.jobs.deployment import EmbeddedDeployment
from reme_compact.presets.schema import BackgroundJobSettings, HealthSettings, Preset
from reme_compact.service.app import create_app
from reme_compact.service.background import JOBS, expire_health, run_again_and_again
from reme_compact.service.state import ServiceState

pytestmark = pytest.mark.anyio

OUTAGE = ErrorFields(code="rate_limited", error="DecisionModelError", message="429", retryable=True)
SETTINGS = BackgroundJobSettings(job="expire_health", every_seconds=7)


def state_of(step: Any, now: datetime) -> ServiceState:
    preset = Preset(health=HealthSettings(outcome_expires_after_seconds=60))
    return ServiceState(preset=preset, clock=lambda: now, ready_deployment=EmbeddedDeployment(preset, step))


@pytest.mark.parametrize(("age", "forgotten"), [(59, False), (60, True), (600, True)])
async def test_an_outcome_is_forgotten_when_it_is_old_enough(
    scripted: Callable[..., Any], noon: datetime, age: int, forgotten: bool
) -> None:
    step = scripted()
    step.health.failed(noon, OUTAGE)
    await expire_health(state_of(step, noon + timedelta(seconds=age)))
    assert (step.health.last_request is None) is forgotten


async def test_a_job_runs_at_its_interval_and_survives_its_failures(
    scripted: Callable[..., Any],
    noon: datetime,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Enough(Exception):  # noqa: N818
        pass

    slept: list[float] = []
    runs = 0

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 4:
            raise Enough

    async def fail_once(_: ServiceState) -> None:
        nonlocal runs
        runs += 1
        if runs == 1:
            raise RuntimeError("first")

    monkeypatch.setitem(JOBS, "expire_health", fail_once)
    with caplog.at_level(logging.ERROR), pytest.raises(Enough):
        await run_again_and_again(SETTINGS, state_of(scripted(), noon), sleep)
    assert slept == [7, 7, 7, 7]
    assert runs == 3
    assert [record.message for record in caplog.records] == ["background job failed"]


@pytest.mark.parametrize("enabled", [True, False])
async def test_the_application_runs_the_jobs_that_its_preset_enables(
    scripted: Callable[..., Any],
    connect: Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]],
    noon: datetime,
    monkeypatch: pytest.MonkeyPatch,
    enabled: bool,
) -> None:
    ran = anyio.Event()

    async def run(_: ServiceState) -> None:
        ran.set()

    monkeypatch.setitem(JOBS, "expire_health", run)
    job = BackgroundJobSettings(job="expire_health", every_seconds=0.001, enabled=enabled)
    app = create_app(Preset(background={"health": job}), scripted().as_step, clock=lambda: noon)
    async with connect(app) as client:
        if enabled:
            with anyio.fail_after(30):
                await ran.wait()
        assert (await client.get("/health")).status_code == 200
    assert ran.is_set() is enabled
