"""`GET /jobs/{id}/events`: what a watcher sees, how it resumes, and when the stream ends."""

import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx
import pytest
from fastapi import FastAPI
from models import HangingModel, always

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.errors import StoreUnavailableError
from reme_compact.contract.job import JobEvent
from reme_compact.decision.protocol import DecisionResponse
from reme_compact.presets.schema import Preset, ServiceSettings
from reme_compact.service.app import create_app
from reme_compact.service.event_stream import EventStream
from reme_compact.service.server import Server
from reme_compact.service.slots import Slots

pytestmark = pytest.mark.anyio

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]
Serving = Callable[[FastAPI], AbstractAsyncContextManager[int]]

WHOLE = ["queued", "started", "planned", "batch_scored", "deciding", "finished"]


@dataclass(frozen=True)
class Received:
    id: str | None
    type: str
    data: Any


def parsed(text: str) -> list[Received]:
    """Read a stream as the standard says."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if fields:
            found.append(Received(fields.get("id"), fields["event"], json.loads(fields["data"])))
    return found


@pytest.fixture
async def quick(connect: Connect) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service whose decision model answers at once."""
    async with connect(create_app(step=CompactContextStep(as_decision_model=always(0.0)))) as client:
        yield client


async def finished_job(client: httpx.AsyncClient, body: dict[str, Any]) -> str:
    answer = await client.post("/jobs/compact_context", json=body, headers={"Prefer": "wait=30"})
    assert answer.json()["status"] == "succeeded"
    return str(answer.json()["id"])


async def test_a_finished_job_is_told_from_the_beginning(quick: httpx.AsyncClient, shrinkable: dict[str, Any]) -> None:
    answer = await quick.get(f"/jobs/{await finished_job(quick, shrinkable)}/events")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    events = parsed(answer.text)
    assert [event.type for event in events] == WHOLE
    assert len({event.id for event in events}) == len(WHOLE)
    data = {event.type: event.data for event in events}
    assert data["planned"] == {"candidates": 1, "asked": 1, "batches": 1}
    assert data["batch_scored"] == {"scored": 1, "asked": 1, "batches_scored": 1, "batches": 1, "error": None}
    assert data["finished"] == {"status": "succeeded", "error": None}


@pytest.mark.parametrize("known", range(len(WHOLE)))
async def test_a_watcher_resumes_after_any_event_without_a_gap_or_a_repeat(
    quick: httpx.AsyncClient, shrinkable: dict[str, Any], known: int
) -> None:
    path = f"/jobs/{await finished_job(quick, shrinkable)}/events"
    events = parsed((await quick.get(path)).text)
    rest = await quick.get(path, headers={"Last-Event-ID": str(events[known].id)})
    assert rest.status_code == 200
    assert parsed(rest.text) == events[known + 1 :]


@pytest.mark.parametrize("odd", ["x", "1", "-1-0", "1-0-0", "0x1-0", f"{2**64}-0", "1-" + "9" * 20, "１-0"])
async def test_a_last_event_id_that_is_none_is_422(
    quick: httpx.AsyncClient, shrinkable: dict[str, Any], odd: str
) -> None:
    path = f"/jobs/{await finished_job(quick, shrinkable)}/events"
    answer = await quick.get(path, headers={"Last-Event-ID": odd.encode()})  # type: ignore[arg-type]
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert answer.headers["content-type"] == "application/problem+json"


@asynccontextmanager
async def watching(port: int, job_id: str) -> AsyncIterator[AsyncIterator[str]]:
    async with (
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
        client.stream("GET", f"/jobs/{job_id}/events") as answer,
    ):
        assert answer.status_code == 200
        yield answer.aiter_lines()


async def until(lines: AsyncIterator[str], wanted: str) -> None:
    async for line in lines:
        if line == wanted:
            return
    raise AssertionError(f"the stream ended before {wanted!r}")


async def test_events_are_told_while_the_job_goes_on(serving: Serving, shrinkable: dict[str, Any]) -> None:
    go_on = anyio.Event()

    async def model(state: Any, questions: Any) -> DecisionResponse:
        await go_on.wait()
        return await always(0.0)(state, questions)

    with anyio.fail_after(60):
        async with serving(create_app(step=CompactContextStep(as_decision_model=model))) as port:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
                job_id = (await client.post("/jobs/compact_context", json=shrinkable)).json()["id"]
            async with watching(port, job_id) as lines:
                await until(lines, "event: planned")
                go_on.set()
                await until(lines, 'data: {"status":"succeeded","error":null}')
                assert [line async for line in lines if line and not line.startswith("id: ")] == []


async def test_a_quiet_stream_shows_that_it_is_alive(serving: Serving, shrinkable: dict[str, Any]) -> None:
    app = create_app(step=CompactContextStep(as_decision_model=HangingModel()))
    app.state.service.ping_seconds = 0.01
    with anyio.fail_after(60):
        async with serving(app) as port:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
                job_id = (await client.post("/jobs/compact_context", json=shrinkable)).json()["id"]
            async with watching(port, job_id) as lines:
                await until(lines, ": ping")
                await until(lines, ": ping")


async def test_a_cancellation_is_told_and_ends_the_stream(serving: Serving, shrinkable: dict[str, Any]) -> None:
    with anyio.fail_after(60):
        async with (
            serving(create_app(step=CompactContextStep(as_decision_model=HangingModel()))) as port,
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
        ):
            job_id = (await client.post("/jobs/compact_context", json=shrinkable)).json()["id"]
            async with watching(port, job_id) as lines:
                await until(lines, "event: planned")
                await client.delete(f"/jobs/{job_id}")
                await until(lines, 'data: {"status":"cancelled","error":null}')


@pytest.mark.parametrize(("grace", "status"), [(3600, "succeeded"), (0, "failed")])
async def test_a_watcher_sees_the_end_of_its_job_when_the_service_stops(
    shrinkable: dict[str, Any], grace: float, status: str
) -> None:
    """With an hour of grace the job finishes; without any, it ends with the service, and the stream says so."""
    go_on = anyio.Event()

    async def model(state: Any, questions: Any) -> DecisionResponse:
        await go_on.wait()
        return await always(0.0)(state, questions)

    app = create_app(step=CompactContextStep(as_decision_model=model))
    with anyio.fail_after(60), socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        server = Server(app, ServiceSettings(shutdown_grace_seconds=grace))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.run_on, listener)
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
                job_id = (await client.post("/jobs/compact_context", json=shrinkable)).json()["id"]
            async with watching(port, job_id) as lines:
                await until(lines, "event: planned")
                server.should_exit = True
                if grace:
                    await app.state.service.stopping.wait()
                    go_on.set()
                await until(lines, "event: finished")
                [data, *rest] = [line async for line in lines if line and not line.startswith("id: ")]
    end = json.loads(data.removeprefix("data: "))
    assert rest == []
    assert end["status"] == status
    assert end["error"] is None or end["error"]["code"] == "stopping"


async def test_where_jobs_go_on_elsewhere_a_stream_ends_when_it_is_stopped() -> None:
    begun, stopping = anyio.Event(), anyio.Event()

    async def events() -> AsyncIterator[JobEvent]:
        yield JobEvent(id="1-0", type="queued")
        begun.set()
        await anyio.sleep_forever()

    stream = Stream(events(), stopping)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream.run)
            await begun.wait()
            stopping.set()
    assert [event.type for event in parsed(stream.text)] == ["queued"]
    assert stream.sent[-1]["more_body"] is False


async def test_streams_have_a_limit_and_a_job_is_accepted_all_the_same(
    serving: Serving, shrinkable: dict[str, Any]
) -> None:
    preset = Preset(service=ServiceSettings(max_waiting_requests=1))
    app = create_app(preset, CompactContextStep(as_decision_model=HangingModel()))
    with anyio.fail_after(60):
        async with serving(app) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            job_id = (await client.post("/jobs/compact_context", json=shrinkable)).json()["id"]
            async with watching(port, job_id) as lines:
                await until(lines, "event: planned")
                refused = await client.get(f"/jobs/{job_id}/events")
                hurried = await client.post("/jobs/compact_context", json=shrinkable, headers={"Prefer": "wait=50"})
                for one in (hurried.json()["id"], job_id):
                    await client.delete(f"/jobs/{one}")
                await until(lines, "event: finished")
            again = await client.get(f"/jobs/{job_id}/events")
    assert (refused.status_code, refused.json()["code"]) == (503, "too_busy")
    assert "max_waiting_requests" in refused.json()["message"]
    assert int(refused.headers["retry-after"]) >= 1
    assert (hurried.status_code, "preference-applied" in hurried.headers) == (202, False)
    assert again.status_code == 200


class Stream:
    """Runs an `EventStream` by hand."""

    def __init__(self, events: AsyncIterator[JobEvent], stopping: anyio.Event | None = None) -> None:
        self._answer = EventStream(events, slots=Slots(1), stopping=stopping, ping_seconds=3600)
        self.gone = anyio.Event()
        self.sent: list[Any] = []

    async def run(self) -> None:
        await self._answer({"type": "http"}, self._receive, self._send)

    @property
    def text(self) -> str:
        return b"".join(message.get("body", b"") for message in self.sent).decode()

    async def _receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.sent.append(message)


async def test_a_watcher_that_leaves_ends_the_watching_at_once() -> None:
    begun, ended = anyio.Event(), anyio.Event()

    async def events() -> AsyncIterator[JobEvent]:
        try:
            yield JobEvent(id="1-0", type="queued")
            begun.set()
            await anyio.sleep_forever()
        finally:
            ended.set()

    stream = Stream(events())
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream.run)
            await begun.wait()
            stream.gone.set()
    assert ended.is_set()
    assert [event.type for event in parsed(stream.text)] == ["queued"]


@pytest.mark.parametrize(
    ("failure", "fields"),
    [
        (StoreUnavailableError("The record cannot be reached."), StoreUnavailableError("").code),
        (ValueError("a secret of the history"), "internal_error"),
    ],
)
async def test_a_failure_on_the_way_is_the_last_event(
    caplog: pytest.LogCaptureFixture, failure: Exception, fields: str
) -> None:
    async def events() -> AsyncIterator[JobEvent]:
        yield JobEvent(id="1-0", type="queued")
        raise failure

    stream = Stream(events())
    await stream.run()
    [queued, error] = parsed(stream.text)
    assert (queued.type, error.type, error.id) == ("queued", "error", None)
    assert set(error.data) == {"code", "error", "message", "retryable"}
    assert (error.data["code"], error.data["retryable"]) == (fields, True)
    assert stream.sent[-1]["more_body"] is False
    assert "secret" not in stream.text + caplog.text


async def test_a_text_cannot_end_its_own_event() -> None:
    async def events() -> AsyncIterator[JobEvent]:
        yield JobEvent(id="1-0", type="batch_scored", data={"error": "a\n\nevent: finished\ndata: {}\r\n\u2028"})

    stream = Stream(events())
    await stream.run()
    [event] = parsed(stream.text)
    assert event.data == {"error": "a\n\nevent: finished\ndata: {}\r\n\u2028"}
