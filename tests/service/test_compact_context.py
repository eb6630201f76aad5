"""`POST /compact_context`: a request in, the proposal of the step out."""

import json
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import httpx
import pytest
from fastapi import FastAPI

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.result import CompactionResult
from reme_compact.decision.protocol import BinaryAnswer, DecisionResponse
from reme_compact.jobs import execution
from reme_compact.service import submission
from reme_compact.service.app import create_app

pytestmark = pytest.mark.anyio

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]
Serving = Callable[[FastAPI], Any]


async def nothing_is_needed(_: Any, questions: Any) -> DecisionResponse:
    return DecisionResponse(content=dict.fromkeys(questions, BinaryAnswer(0.01)), usage={"questions": len(questions)})


async def test_the_proposal_is_the_one_that_the_step_makes(connect: Connect, shrinkable: dict[str, Any]) -> None:
    step = CompactContextStep(as_decision_model=nothing_is_needed)
    embedded = await step(**shrinkable)
    async with connect(create_app(step=step)) as client:
        answer = await client.post("/compact_context", json=shrinkable)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    envelope = answer.json()
    assert set(envelope) == {"answer", "success", "metadata"}
    assert envelope["success"] is True
    CompactionResult.model_validate(envelope["answer"])
    assert envelope["metadata"]["compaction"] == envelope["answer"]["stats"]
    assert envelope["answer"]["changed"] is True
    [decision] = envelope["answer"]["decisions"]
    assert (decision["call_id"], decision["action"], decision["reason"]) == ("c1", "preview", "low_relevance")
    same = embedded.answer | {"stats": None}
    assert envelope["answer"] | {"stats": None} == same


async def test_the_step_gets_the_request_validated(
    scripted: Callable[..., Any], connect: Connect, body: dict[str, Any]
) -> None:
    step = scripted()
    seen: list[CompactionRequest] = []
    unchanged = step.run

    async def remember(request: CompactionRequest) -> Any:
        seen.append(request)
        return await unchanged(request)

    step.run = remember
    async with connect(create_app(step=step.as_step)) as client:
        await client.post("/compact_context", json=body)
    assert seen == [CompactionRequest.parse(body)]


@pytest.mark.parametrize("odd", ["lone \ud800 surrogate", 2**70, -(2**70), 1.5, "\x00", "名前 🙂"])
async def test_what_a_history_holds_comes_back_exactly(
    client: httpx.AsyncClient, body: dict[str, Any], odd: Any
) -> None:
    body["messages"] = [{"role": "user", "content": [{"type": "text", "text": "x", "extra": [odd]}], "extra": odd}]
    content = json.dumps(body).encode("ascii")
    answer = await client.post("/compact_context", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 200
    assert json.loads(answer.content)["answer"]["messages"] == body["messages"]


@pytest.mark.parametrize(("module", "work"), [(submission, "parse_json"), (execution, "response_pieces")])
async def test_reading_and_writing_json_leave_other_requests_alone(
    scripted: Callable[..., Any],
    serving: Serving,
    body: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    module: Any,
    work: str,
) -> None:
    real: Callable[[Any], Any] = getattr(module, work)
    entered, go_on = anyio.Event(), threading.Event()

    def slow(value: Any) -> Any:
        anyio.from_thread.run_sync(entered.set)
        assert go_on.wait(30)
        return real(value)

    monkeypatch.setattr(module, work, slow)
    statuses: list[int] = []

    async def post(client: httpx.AsyncClient) -> None:
        statuses.append((await client.post("/compact_context", json=body)).status_code)

    app = create_app(step=scripted().as_step)
    async with (
        serving(app) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(post, client)
        await entered.wait()
        assert (await client.get("/health")).status_code == 200
        assert statuses == []
        go_on.set()
    assert statuses == [200]


async def test_a_large_answer_arrives_whole(
    serving: Serving, scripted: Callable[..., Any], body: dict[str, Any]
) -> None:
    body["messages"] = [
        {"role": "user", "content": [{"type": "text", "text": f"{n} " + "é" * 30_000}]} for n in range(60)
    ]
    async with (
        serving(create_app(step=scripted().as_step)) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client,
    ):
        answer = await client.post("/compact_context", json=body)
    assert len(answer.content) > 3_000_000
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert answer.json()["answer"]["messages"] == body["messages"]
    assert answer.json()["success"] is True
