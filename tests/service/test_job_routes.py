"""`/jobs`: what a client that comes back later sees."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any

import anyio
import httpx
import pytest
from fastapi import FastAPI
from models import HangingModel, always

from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract import errors
from reme_compact.contract.job import JobDocument, JobPage
from reme_compact.contract.result import CompactionResult
from reme_compact.presets.schema import ExecutionSettings, Preset, ServiceSettings
from reme_compact.service.app import create_app

pytestmark = pytest.mark.anyio

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]
WAIT = {"Prefer": "wait=30"}
UNKNOWN_IDS = ["019000000000-00000000000000000000", "x", "%20", "é"]


@pytest.fixture
async def quick(connect: Connect) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service whose decision model answers at once."""
    async with connect(create_app(step=CompactContextStep(as_decision_model=always(0.0)))) as client:
        yield client


@pytest.fixture
async def hanging(connect: Connect) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service whose decision model never answers."""
    async with connect(create_app(step=CompactContextStep(as_decision_model=HangingModel()))) as client:
        yield client


async def submit(client: httpx.AsyncClient, body: dict[str, Any], **headers: str) -> dict[str, Any]:
    answer = await client.post("/jobs/compact_context", json=body, headers=headers)
    assert answer.status_code in {200, 202}, answer.text
    document: dict[str, Any] = answer.json()
    return document


async def test_a_new_job_is_answered_with_where_to_look_for_it(
    hanging: httpx.AsyncClient, shrinkable: dict[str, Any]
) -> None:
    answer = await hanging.post("/jobs/compact_context", json=shrinkable)
    document = JobDocument.model_validate(answer.json())
    assert answer.status_code == 202
    assert (document.job, document.is_final) == ("compact_context", False)
    assert int(answer.headers["retry-after"]) >= 1
    assert "preference-applied" not in answer.headers
    found = await hanging.get(answer.headers["location"])
    assert found.status_code == 200
    assert found.json()["id"] == document.id
    assert int(found.headers["retry-after"]) >= 1


async def test_a_finished_job_tells_its_progress_and_its_result_is_the_proposal(
    quick: httpx.AsyncClient, shrinkable: dict[str, Any]
) -> None:
    answer = await quick.post("/jobs/compact_context", json=shrinkable, headers=WAIT)
    assert answer.status_code == 200
    assert answer.headers["preference-applied"] == "wait=30"
    assert "retry-after" not in answer.headers
    document = answer.json()
    assert document["status"] == "succeeded"
    progress = {"candidates": 1, "asked": 1, "scored": 1, "batches": 1, "batches_scored": 1}
    assert document["progress"] == progress
    assert document["created_at"] <= document["started_at"] <= document["finished_at"] < document["expires_at"]
    result = await quick.get(f"/jobs/{document['id']}/result")
    waited_for = await quick.post("/compact_context", json=shrinkable)
    assert result.headers["content-type"] == "application/json"
    CompactionResult.model_validate(result.json()["answer"])
    without_time = [one.json()["answer"] | {"stats": None} for one in (result, waited_for)]
    assert without_time[0] == without_time[1]


async def test_a_wait_that_is_too_short_ends_with_the_job_as_it_is(
    hanging: httpx.AsyncClient, shrinkable: dict[str, Any]
) -> None:
    answer = await hanging.post("/jobs/compact_context", json=shrinkable, headers={"Prefer": "wait=0"})
    assert answer.status_code == 202
    assert answer.headers["preference-applied"] == "wait=0"
    assert answer.json()["finished_at"] is None


async def test_a_wait_is_no_longer_than_the_service_allows(connect: Connect, shrinkable: dict[str, Any]) -> None:
    preset = Preset(service=ServiceSettings(max_wait_seconds=0.01))
    with anyio.fail_after(60):
        async with connect(create_app(preset, CompactContextStep(as_decision_model=HangingModel()))) as client:
            answer = await client.post("/jobs/compact_context", json=shrinkable, headers={"Prefer": "wait=3600"})
    assert answer.status_code == 202
    assert answer.headers["preference-applied"] == "wait=0.01"


async def test_a_request_that_breaks_the_contract_is_refused_before_it_is_a_job(
    quick: httpx.AsyncClient, body: dict[str, Any]
) -> None:
    answers = [
        await quick.post("/jobs/compact_context", json=body | {"gaol": "x"}),
        await quick.post("/jobs/compact_context", content=b"{", headers={"content-type": "application/json"}),
        await quick.post("/jobs/compact_context", content=b"{}", headers={"content-type": "text/plain"}),
    ]
    assert [answer.status_code for answer in answers] == [422, 400, 415]
    assert (await quick.get("/jobs")).json() == {"jobs": [], "next_cursor": None}


async def test_there_is_no_result_before_the_end(hanging: httpx.AsyncClient, shrinkable: dict[str, Any]) -> None:
    job = await submit(hanging, shrinkable)
    answer = await hanging.get(f"/jobs/{job['id']}/result")
    assert (answer.status_code, answer.json()["code"]) == (409, "job_not_finished")
    assert int(answer.headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.TokenCounterError("it raised"), 422),
        (errors.StartTimeoutError("too late"), 504),
        (errors.ReportedError({"code": "odd", "error": "OddError", "message": "it is odd", "retryable": False}), 409),
        (ValueError("a secret of the history"), 409),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
async def test_a_failed_job_answers_with_its_own_error(
    scripted: Callable[..., Any], connect: Connect, body: dict[str, Any], error: Exception, status: int
) -> None:
    async def fail(_: Any) -> Any:
        raise error

    async with connect(create_app(step=scripted(fail).as_step)) as client:
        job = await submit(client, body, **WAIT)
        answer = await client.get(f"/jobs/{job['id']}/result")
    assert job["status"] == "failed"
    assert answer.status_code == answer.json()["status"] == status
    assert {name: answer.json()[name] for name in job["error"]} == job["error"]
    assert "secret" not in answer.text
    assert job["id"] in answer.json()["instance"]


async def test_cancelling_ends_the_job_and_doing_it_again_changes_nothing(
    connect: Connect, shrinkable: dict[str, Any]
) -> None:
    model = HangingModel()
    async with connect(create_app(step=CompactContextStep(as_decision_model=model))) as client:
        job = await submit(client, shrinkable)
        with anyio.fail_after(60):
            await model.asked.wait()
        first, second = [await client.delete(f"/jobs/{job['id']}") for _ in range(2)]
        result = await client.get(f"/jobs/{job['id']}/result")
    assert (first.status_code, first.json()["status"]) == (200, "cancelled")
    assert second.json() == first.json()
    assert (result.status_code, result.json()["code"]) == (409, "job_cancelled")
    assert model.cancelled == 1


async def test_a_finished_job_stays_what_it_is_when_it_is_cancelled(
    quick: httpx.AsyncClient, shrinkable: dict[str, Any]
) -> None:
    job = await submit(quick, shrinkable, **WAIT)
    assert (await quick.delete(f"/jobs/{job['id']}")).json() == job
    assert (await quick.get(f"/jobs/{job['id']}/result")).status_code == 200


@pytest.mark.parametrize("job_id", UNKNOWN_IDS)
@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("GET", "/result"), ("GET", "/events"), ("DELETE", "")])
async def test_a_job_that_there_is_not_is_404(quick: httpx.AsyncClient, job_id: str, method: str, path: str) -> None:
    answer = await quick.request(method, f"/jobs/{job_id}{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "job_not_found")


async def test_pages_show_every_job_once_the_newest_first(quick: httpx.AsyncClient, body: dict[str, Any]) -> None:
    ids = [(await submit(quick, body, **WAIT))["id"] for _ in range(5)]
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = JobPage.model_validate((await quick.get("/jobs", params={"limit": 2, "cursor": cursor})).json())
        assert len(page.jobs) <= 2
        seen += [job.id for job in page.jobs]
        cursor = page.next_cursor
    assert sorted(seen) == sorted(ids)
    assert [job_id[:12] for job_id in seen] == sorted((job_id[:12] for job_id in ids), reverse=True)


async def test_a_page_can_be_of_one_status(hanging: httpx.AsyncClient, shrinkable: dict[str, Any]) -> None:
    jobs = [await submit(hanging, shrinkable) for _ in range(3)]
    await hanging.delete(f"/jobs/{jobs[1]['id']}")
    cancelled = (await hanging.get("/jobs", params={"status": "cancelled"})).json()["jobs"]
    assert [job["id"] for job in cancelled] == [jobs[1]["id"]]
    assert (await hanging.get("/jobs", params={"status": "succeeded"})).json()["jobs"] == []


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=101", "limit=x", "limit=5.0", "limit=2&limit=3", "status=done", "cursor=../x", "statsu=failed"],
)
async def test_a_page_that_cannot_be_is_422(quick: httpx.AsyncClient, query: str) -> None:
    answer = await quick.get(f"/jobs?{query}")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert query.partition("=")[0] in answer.json()["message"]


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon", "301"])
async def test_a_wait_for_the_start_that_cannot_be_is_422(
    quick: httpx.AsyncClient, body: dict[str, Any], seconds: str
) -> None:
    answer = await quick.post(f"/jobs/compact_context?start_within_seconds={seconds}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
    assert "start_within_seconds" in answer.json()["message"]


async def test_a_job_that_is_not_started_in_time_ends_as_timed_out(
    connect: Connect, shrinkable: dict[str, Any]
) -> None:
    preset = Preset(execution=ExecutionSettings(max_running_jobs=1))
    async with connect(create_app(preset, CompactContextStep(as_decision_model=HangingModel()))) as client:
        await submit(client, shrinkable)
        path = "/jobs/compact_context?start_within_seconds=0.01"
        answer = await client.post(path, json=shrinkable, headers=WAIT)
        result = await client.get(f"/jobs/{answer.json()['id']}/result")
    assert (answer.status_code, answer.json()["status"]) == (200, "timed_out")
    assert answer.json()["error"]["code"] == "start_timeout"
    assert (result.status_code, result.json()["code"]) == (504, "start_timeout")


@pytest.mark.parametrize(
    ("limits", "status", "code"),
    [
        ({"max_active_jobs": 1}, 503, "too_busy"),
        ({"max_stored_bytes": 18_000}, 503, "storage_full"),
    ],
)
@pytest.mark.parametrize("path", ["/jobs/compact_context", "/compact_context"])
async def test_a_full_service_refuses_and_says_when_to_try_again(
    connect: Connect, shrinkable: dict[str, Any], limits: dict[str, int], status: int, code: str, path: str
) -> None:
    preset = Preset(execution=ExecutionSettings(**limits))
    async with connect(create_app(preset, CompactContextStep(as_decision_model=HangingModel()))) as client:
        job = await submit(client, shrinkable)
        refused = await client.post(path, json=shrinkable)
        jobs = (await client.get("/jobs")).json()["jobs"]
        await client.delete(f"/jobs/{job['id']}")
        if path.startswith("/jobs"):
            await submit(client, shrinkable)
    assert (refused.status_code, refused.json()["code"], refused.json()["retryable"]) == (status, code, True)
    assert int(refused.headers["retry-after"]) >= 1
    assert [one["id"] for one in jobs] == [job["id"]]


async def test_a_job_expires(connect: Connect, noon: datetime, shrinkable: dict[str, Any]) -> None:
    now = noon
    preset = Preset(execution=ExecutionSettings(results_expire_after_seconds=60))
    step = CompactContextStep(as_decision_model=always(0.0))
    async with connect(create_app(preset, step, clock=lambda: now)) as client:
        job = await submit(client, shrinkable, **WAIT)
        now = noon + timedelta(seconds=59)
        assert (await client.get(f"/jobs/{job['id']}/result")).status_code == 200
        now = noon + timedelta(seconds=60)
        for method, path in [("GET", ""), ("GET", "/result"), ("GET", "/events"), ("DELETE", "")]:
            answer = await client.request(method, f"/jobs/{job['id']}{path}")
            assert (answer.status_code, answer.json()["code"]) == (410, "job_expired")
        assert (await client.get("/jobs")).json()["jobs"] == []


async def test_a_wrong_method_is_told_every_right_one(quick: httpx.AsyncClient) -> None:
    answer = await quick.put(f"/jobs/{UNKNOWN_IDS[0]}")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, DELETE, HEAD, OPTIONS"


async def test_a_mounted_service_tells_where_its_jobs_are(connect: Connect, shrinkable: dict[str, Any]) -> None:
    inner = create_app(step=CompactContextStep(as_decision_model=always(0.0)))
    outer = FastAPI()
    outer.mount("/compaction", inner)
    async with inner.router.lifespan_context(inner), connect(outer) as client:
        answer = await client.post("/compaction/jobs/compact_context", json=shrinkable)
        assert answer.headers["location"] == f"/compaction/jobs/{answer.json()['id']}"
        assert (await client.get(answer.headers["location"])).status_code == 200
        assert (await client.put(answer.headers["location"])).headers["allow"] == "GET, DELETE, HEAD, OPTIONS"


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_the_path_for_new_jobs_is_no_job(quick: httpx.AsyncClient, method: str) -> None:
    answer = await quick.request(method, "/jobs/compact_context")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "POST, OPTIONS"


async def test_blank_parameters_are_none(quick: httpx.AsyncClient, body: dict[str, Any]) -> None:
    job = await submit(quick, body, **WAIT)
    jobs = (await quick.get("/jobs?status=&limit=&cursor=")).json()["jobs"]
    assert [one["id"] for one in jobs] == [job["id"]]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=101", "query.limit: must be at most 100"),
        ("limit=5.0", "query.limit: must be a whole number"),
        ("limit=2&limit=2", "query.limit: must be given only once"),
        (
            "status=bogus",
            "query.status: must be queued, running, succeeded, failed, cancelled or timed_out",
        ),
        ("statuss=failed", "query.statuss: unknown key; did you mean 'status'?"),
    ],
)
async def test_a_wrong_query_is_told_in_the_usual_words(quick: httpx.AsyncClient, query: str, message: str) -> None:
    assert (await quick.get(f"/jobs?{query}")).json()["message"] == message


async def test_a_wait_that_is_too_long_is_told_in_the_usual_words(quick: httpx.AsyncClient, body: Any) -> None:
    answer = await quick.post("/jobs/compact_context?start_within_seconds=301", json=body)
    assert answer.json()["message"] == "query.start_within_seconds: must be at most 300"
