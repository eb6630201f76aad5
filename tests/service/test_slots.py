"""At most so many requests are worked on at once."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import httpx
import pytest
from fastapi import FastAPI

from reme_compact.contract.errors import TooBusyError
from reme_compact.presets.schema import Preset, ServiceSettings
from reme_compact.service.app import create_app
from reme_compact.service.slots import Slots

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]

pytestmark = pytest.mark.anyio


def test_a_slot_is_free_again_however_its_work_ended() -> None:
    slots = Slots(1)
    with pytest.raises(ZeroDivisionError), slots.take():
        raise ZeroDivisionError
    with slots.take(), pytest.raises(TooBusyError), slots.take():
        pass
    with slots.take():
        pass


async def test_one_request_too_many_is_503_and_may_be_repeated(
    scripted: Callable[..., Any],
    connect: Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]],
    body: Any,
) -> None:
    step = scripted()
    started, go_on = anyio.Event(), anyio.Event()
    unchanged = step.run

    async def wait(request: Any) -> Any:
        started.set()
        await go_on.wait()
        return await unchanged(request)

    step.run = wait
    preset = Preset(service=ServiceSettings(max_active_requests=1))
    answers: list[httpx.Response] = []

    async def post() -> None:
        answers.append(await client.post("/compact_context", json=body))

    async with connect(create_app(preset, step.as_step)) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(post)
            await started.wait()
            refused = await client.post("/compact_context", json=body)
            alive = await client.get("/health")
            go_on.set()
        await post()
    assert refused.status_code == 503
    assert refused.json()["code"] == "too_busy"
    assert refused.json()["retryable"] is True
    assert int(refused.headers["retry-after"]) >= 1
    assert alive.status_code == 200
    assert [answer.status_code for answer in answers] == [200, 200]
