"""Requests made up from the OpenAPI document are answered as it says, with API keys and without."""

import contextlib
import copy
import hashlib
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import anyio
import httpx
import pytest
import schemathesis
from anyio.from_thread import start_blocking_portal
from fastapi import FastAPI
from hypothesis import settings
from schemathesis import Case
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from reme_compact.archive.archive import Archive
from reme_compact.archive.filesystem import FilesystemStorage
from reme_compact.archive.reference import Session, reference_to
from reme_compact.archive.storing import NewEntry
from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.protocol import BinaryAnswer, DecisionResponse
from reme_compact.presets.schema import ApiKeySettings, Preset, ServiceSettings
from reme_compact.service.app import create_app
from reme_compact.service.server import Server

SECRET = "reme_secret"
WITH_KEY = {"Authorization": f"Bearer {SECRET}"}
KEY = ApiKeySettings(sha256=hashlib.sha256(SECRET.encode()).hexdigest())
SESSION, ORIGINAL = "travel", "one line of many\n" * 2_000
GUARDED = Preset(service=ServiceSettings(api_keys={"agent": KEY}))


async def half_needed(_: Any, questions: Any) -> DecisionResponse:
    return DecisionResponse(content=dict.fromkeys(questions, BinaryAnswer(0.5)))


def broken(_: Any) -> int:
    raise ValueError


def new_app(preset: Preset, archive: Archive | None = None) -> FastAPI:
    counters = {"broken": lambda: broken}
    return create_app(
        preset, CompactContextStep(as_decision_model=half_needed, token_counters=counters, archive=archive)
    )


OPEN_SCHEMA = schemathesis.openapi.from_dict(copy.deepcopy(new_app(Preset()).openapi()))
GUARDED_SCHEMA = schemathesis.openapi.from_dict(copy.deepcopy(new_app(GUARDED).openapi()))


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """Keep the same original for requests without keys and for the key."""
    kept = Archive(FilesystemStorage(tmp_path_factory.mktemp("archive")))
    for owner in ("", "agent"):
        kept.store(Session(SESSION, owner), NewEntry("call_1", "read_file", ORIGINAL))
    return kept


@contextlib.asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(app, ServiceSettings(shutdown_grace_seconds=5))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.run_on, listener)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            server.should_exit = True


@pytest.fixture(scope="module")
def open_address(archive: Archive) -> Iterator[str]:
    app = new_app(Preset(), archive)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app)) as address:
        yield address


@pytest.fixture(scope="module")
def guarded_address(archive: Archive) -> Iterator[str]:
    app = new_app(GUARDED, archive)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app)) as address:
        yield address


def jobs_at(address: str, headers: dict[str, str]) -> list[str]:
    """Make a job that succeeded and one that failed."""
    failing = CompactionRequest.example | {"token_counter": "broken"}
    answers = [
        httpx.post(f"{address}/jobs/compact_context", json=body, headers=headers | {"Prefer": "wait=30"})
        for body in (CompactionRequest.example, failing)
    ]
    assert [answer.json()["status"] for answer in answers] == ["succeeded", "failed"]
    return [answer.json()["id"] for answer in answers]


@pytest.fixture(scope="module")
def open_jobs(open_address: str) -> list[str]:
    return jobs_at(open_address, {})


@pytest.fixture(scope="module")
def guarded_jobs(guarded_address: str) -> list[str]:
    return jobs_at(guarded_address, WITH_KEY)


def is_beyond_a_schema(path: str, case: Case[Any]) -> bool:
    """Tell whether a refusal is for something that a schema cannot say.

    How a format writes its messages, which counters are registered, that a budget needs one, which cursors there
    are, where an original ends, which texts are blank, and that 1.0 is no whole number.
    """
    if path in {
        "token_counter",
        "archive.session",
        "options.max_output_tokens",
        "options.min_saved_tokens",
        "format",
        "cursor",
        "query.offset",
        "header.Last-Event-ID",
    }:
        return True
    if path.startswith("messages["):
        return True
    owner, _, name = path.partition(".")
    body: Any = case.body
    return owner == "options" and isinstance(body["options"][name], float)


def has_blank_parameter(case: Case[Any]) -> bool:
    """Tell whether the query holds a blank value, which means its absence and fits every type."""
    return any(value in ({}, []) or not str(value).strip() for value in (case.query or {}).values())


def is_no_http(answer: Response) -> bool:
    """Tell whether a header was made up that HTTP forbids: refused before anybody looks at the path or the key."""
    return answer.status_code == 400 and answer.json()["code"] == "invalid_http"


def check(case: Case[Any], address: str, jobs: list[str], headers: dict[str, str]) -> None:
    is_positive = case.meta is not None and case.meta.generation.mode.is_positive
    if is_positive and "job_id" in case.path_parameters:
        case.path_parameters["job_id"] = jobs[len(str(case.path_parameters["job_id"])) % len(jobs)]
    if is_positive and "content" in case.path_parameters:
        reference = reference_to(Session(SESSION, "agent" if headers else ""), ORIGINAL)
        case.path_parameters.update(session_id=reference.session_id, content=reference.sha256)
    excluded: list[Any] = [positive_data_acceptance, *([negative_data_rejection] if has_blank_parameter(case) else [])]
    answer = case.call(base_url=address, headers=headers)
    if is_no_http(answer):
        return
    case.validate_response(answer, excluded_checks=excluded)
    if not is_positive or answer.status_code < 300:
        return
    problem = answer.json()
    # Without single problems it is the error of the job that failed.
    assert problem["code"] in {"invalid_request", "idempotency_conflict", "token_counter_failed"}
    assert all(is_beyond_a_schema(found["path"], case) for found in problem.get("problems", []))


@OPEN_SCHEMA.parametrize()
@settings(max_examples=20, deadline=None)
def test_without_keys(case: Case[Any], open_address: str, open_jobs: list[str]) -> None:
    check(case, open_address, open_jobs, {})


@GUARDED_SCHEMA.parametrize()
@settings(max_examples=10, deadline=None)
def test_with_a_key(case: Case[Any], guarded_address: str, guarded_jobs: list[str]) -> None:
    check(case, guarded_address, guarded_jobs, WITH_KEY)


@GUARDED_SCHEMA.parametrize()
@settings(max_examples=5, deadline=None)
def test_without_the_key_that_is_needed(case: Case[Any], guarded_address: str) -> None:
    answer = case.call(base_url=guarded_address)
    if is_no_http(answer):
        return
    if case.path != "/health":
        assert answer.status_code == 401
    case.validate_response(answer, excluded_checks=[positive_data_acceptance])
