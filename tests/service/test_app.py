"""Who builds the step, and who closes it."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from reme_compact.contract.errors import MissingCredentialError
from reme_compact.presets.schema import Preset
from reme_compact.service.app import create_app

pytestmark = pytest.mark.anyio

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]


@pytest.mark.parametrize("preset", [None, Preset()])
async def test_the_application_closes_the_step_that_it_built(
    scripted: Callable[..., Any],
    connect: Connect,
    body: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    preset: Preset | None,
) -> None:
    step = scripted()
    monkeypatch.setattr("reme_compact.jobs.deployment.assemble_job", lambda _, name: {"compact_context": step}[name])
    app = create_app(preset)
    async with connect(app) as client:
        assert (await client.post("/compact_context", json=body)).status_code == 200
        assert not step.closed
    assert step.closed


async def test_the_application_leaves_a_given_step_open(
    scripted: Callable[..., Any], connect: Connect, body: dict[str, Any]
) -> None:
    step = scripted()
    app = create_app(step=step.as_step)
    async with connect(app) as client:
        assert (await client.post("/compact_context", json=body)).status_code == 200
    assert not step.closed


async def test_a_failing_start_raises_the_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise MissingCredentialError("Set DECISION_MODEL_API_KEY.")

    monkeypatch.setattr("reme_compact.jobs.deployment.assemble_job", refuse)
    app = create_app(Preset())
    with pytest.raises(MissingCredentialError, match="DECISION_MODEL_API_KEY"):
        async with app.router.lifespan_context(app):
            pass
