"""`POST /compact_context` is a job that its client waits for, and that leaves nothing behind."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from fastapi import FastAPI
from models import HangingModel, ScriptedModel, always

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.errors import StoreUnavailableError, TokenCounterError
from reme_compact.decision.protocol import DecisionResponse
from reme_compact.presets.schema import ExecutionSettings, Preset
from reme_compact.service.app import create_app
from reme_compact.service.state import ServiceState

pytestmark = pytest.mark.anyio

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]
Serving = Callable[[FastAPI], AbstractAsyncContextManager[int]]


async def nothing_is_kept(app: FastAPI) -> bool:
    service: ServiceState = app.state.service
    figures = await service.deployment.store.figures()
    return figures.stored_bytes == 0 and sum(figures.jobs.values()) == 0


class PatientModel:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked, self.go_on = anyio.Event(), anyio.Event()
        self._answers: ScriptedModel = always(0.0)

    async def __call__(self, state: Any, questions: Any) -> DecisionResponse:
        self.asked.set()
        await self.go_on.wait()
        return await self._answers(state, questions)


async def test_nothing_is_kept_of_an_answered_request(connect: Connect, shrinkable: dict[str, Any]) -> None:
    app = create_app(step=CompactContextStep(as_decision_model=always(0.0)))
    async with connect(app) as client:
        assert (await client.post("/compact_context", json=shrinkable)).status_code == 200
        assert await nothing_is_kept(app)


async def test_nothing_is_kept_of_a_request_that_failed(
    scripted: Callable[..., Any], connect: Connect, body: dict[str, Any]
) -> None:
    async def fail(_: Any) -> Any:
        raise TokenCounterError("it raised")

    app = create_app(step=scripted(fail).as_step)
    async with connect(app) as client:
        assert (await client.post("/compact_context", json=body)).status_code == 422
        assert await nothing_is_kept(app)


async def test_it_is_a_job_while_it_goes_on_and_can_be_cancelled_from_outside(
    connect: Connect, shrinkable: dict[str, Any]
) -> None:
    model = HangingModel()
    app = create_app(step=CompactContextStep(as_decision_model=model))
    answers: list[httpx.Response] = []

    async def post() -> None:
        answers.append(await client.post("/compact_context", json=shrinkable))

    with anyio.fail_after(60):
        async with connect(app) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(post)
                await model.asked.wait()
                [job] = (await client.get("/jobs")).json()["jobs"]
                assert job["status"] == "running"
                await client.delete(f"/jobs/{job['id']}")
            assert await nothing_is_kept(app)
    assert (answers[0].status_code, answers[0].json()["code"]) == (409, "job_cancelled")


async def leave(port: int, body: dict[str, Any], gone: anyio.Event, **headers: str) -> None:
    """Send a request and close the connection when it is time."""
    request = httpx.Request("POST", f"http://127.0.0.1:{port}/compact_context", json=body, headers=headers)
    head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    async with await anyio.connect_tcp("127.0.0.1", port) as connection:
        await connection.send(f"POST /compact_context HTTP/1.1\r\n{head}\r\n".encode() + request.content)
        await gone.wait()


async def test_a_client_that_leaves_cancels_the_job_and_nothing_is_kept(
    serving: Serving, shrinkable: dict[str, Any]
) -> None:
    model, gone = HangingModel(), anyio.Event()
    app = create_app(step=CompactContextStep(as_decision_model=model))
    with anyio.fail_after(60):
        async with serving(app) as port, anyio.create_task_group() as tasks:
            tasks.start_soon(leave, port, shrinkable, gone)
            await model.asked.wait()
            assert not await nothing_is_kept(app)
            gone.set()
            while not (model.cancelled and await nothing_is_kept(app)):
                await anyio.lowlevel.checkpoint()
    assert model.cancelled == 1


async def test_a_client_with_a_key_that_leaves_finds_its_answer_later(
    serving: Serving, shrinkable: dict[str, Any]
) -> None:
    key = {"Idempotency-Key": "turn-17"}
    model, gone = PatientModel(), anyio.Event()
    app = create_app(step=CompactContextStep(as_decision_model=model))
    with anyio.fail_after(60):
        async with serving(app) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial(leave, port, shrinkable, gone, **key))
                await model.asked.wait()
                gone.set()
            model.go_on.set()
            answer = await client.post("/compact_context", json=shrinkable, headers=key)
            [job] = (await client.get("/jobs")).json()["jobs"]
    assert answer.status_code == 200
    assert answer.headers["idempotency-replayed"] == "true"
    assert answer.json()["answer"]["changed"] is True
    assert job["status"] == "succeeded"


async def test_the_time_runs_from_acceptance_also_while_others_are_first(
    connect: Connect, shrinkable: dict[str, Any]
) -> None:
    """The second request is started when its time is up already, so nothing is asked for it."""
    model = PatientModel()
    preset = Preset(execution=ExecutionSettings(max_running_jobs=1))
    now = anyio.current_time
    app = create_app(preset, CompactContextStep(as_decision_model=model))
    answers: dict[str, httpx.Response] = {}

    async def post(name: str, seconds: float) -> None:
        options = shrinkable["options"] | {"total_timeout_seconds": seconds}
        answers[name] = await client.post("/compact_context", json=shrinkable | {"options": options})

    with anyio.fail_after(60):
        async with connect(app) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(post, "first", 60)
            await model.asked.wait()
            tasks.start_soon(post, "second", 0.01)
            while len((await client.get("/jobs?status=queued")).json()["jobs"]) < 1:
                await anyio.lowlevel.checkpoint()
            accepted = now()
            while now() < accepted + 0.02:
                await anyio.lowlevel.checkpoint()
            model.go_on.set()
    reasons = {name: [d["reason"] for d in answer.json()["answer"]["decisions"]] for name, answer in answers.items()}
    assert reasons == {"first": ["low_relevance"], "second": ["timeout"]}


async def test_an_answer_is_given_even_if_nothing_can_be_removed(
    connect: Connect, shrinkable: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: Any) -> Any:
        raise StoreUnavailableError("The record cannot be reached.")

    app = create_app(step=CompactContextStep(as_decision_model=always(0.0)))
    async with connect(app) as client:
        monkeypatch.setattr(type(app.state.service.deployment.store), "forget", fail)
        assert (await client.post("/compact_context", json=shrinkable)).status_code == 200
    assert [record.levelname for record in caplog.records if "stays recorded" in record.message] == ["WARNING"]
