"""Every failure is a problem document that says what to do and tells nothing private."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from reme_compact.contract import errors
from reme_compact.contract.errors import ReMeError
from reme_compact.service.app import create_app
from reme_compact.service.problems import STATUS_AND_TITLE, Problem

pytestmark = pytest.mark.anyio

Connect = Callable[[FastAPI], AbstractAsyncContextManager[httpx.AsyncClient]]


def all_errors(base: type[ReMeError] = ReMeError) -> Iterator[type[ReMeError]]:
    yield base
    for child in base.__subclasses__():
        yield from all_errors(child)


def check(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    document: dict[str, Any] = answer.json()
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    Problem.model_validate(document)
    assert document["status"] == status
    assert document["code"] == code
    assert document["type"].endswith(f":{code}")
    assert document["detail"] == document["message"]
    assert document["instance"].startswith(("urn:uuid:", "urn:reme-compact:job:"))
    return document


def test_every_error_of_the_contract_has_a_status_of_its_own() -> None:
    named = {kind for kind in all_errors() if kind.__module__ == errors.__name__}
    assert named == set(STATUS_AND_TITLE)


REPORTED = errors.ErrorFields(code="elsewhere", error="OtherError", message="it failed", retryable=True)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.InvalidRequestError([{"path": "goal", "message": "is odd"}]), 422, "invalid_request"),
        (errors.InvalidJSONError("no"), 400, "invalid_json"),
        (errors.RequestTimeoutError("no"), 408, "request_timeout"),
        (errors.RequestTooLargeError("no"), 413, "request_too_large"),
        (errors.UnsupportedMediaTypeError("no"), 415, "unsupported_media_type"),
        (errors.TokenCounterError("it raised"), 422, "token_counter_failed"),
        (errors.ConfigurationError("wrong"), 500, "invalid_configuration"),
        (errors.MissingCredentialError("no key"), 500, "missing_credential"),
        (errors.MissingExtraError("X", "decision"), 422, "missing_extra"),
        (errors.DecisionModelError("down", code="rate_limited"), 502, "rate_limited"),
        (errors.ReportedError(REPORTED), 502, "elsewhere"),
        (errors.ServiceUnavailableError("away"), 503, "service_unreachable"),
        (errors.TooBusyError("busy"), 503, "too_busy"),
        (errors.ReMeError("something"), 500, "reme_error"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ReMeError) else None,
)
async def test_a_typed_error_is_answered_as_the_table_says(
    scripted: Callable[..., Any], connect: Connect, body: Any, error: ReMeError, status: int, code: str
) -> None:
    async def fail(_: Any) -> Any:
        raise error

    async with connect(create_app(step=scripted(fail).as_step)) as client:
        document = check(await client.post("/compact_context", json=body), status, code)
    assert {key: document[key] for key in errors.ErrorFields.__annotations__} == error.fields()
    assert document["instance"].startswith("urn:reme-compact:job:")


async def test_an_unknown_path_is_404(client: httpx.AsyncClient) -> None:
    document = check(await client.get("/compact"), 404, "not_found")
    assert "/openapi.json" in document["detail"]


async def test_a_trailing_slash_is_no_redirect(client: httpx.AsyncClient, body: Any) -> None:
    check(await client.post("/compact_context/", json=body), 404, "not_found")


async def test_a_wrong_method_is_405_and_names_the_right_one(client: httpx.AsyncClient) -> None:
    answer = await client.get("/compact_context")
    check(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == "POST, OPTIONS"


async def test_no_page_loads_scripts_from_elsewhere(client: httpx.AsyncClient) -> None:
    for path in ("/docs", "/redoc"):
        check(await client.get(path), 404, "not_found")


async def test_an_unforeseen_failure_is_neutral_to_the_client_and_in_the_log(
    scripted: Callable[..., Any], connect: Connect, body: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(_: Any) -> Any:
        try:
            raise KeyError("a secret of the history")
        except KeyError as error:
            raise RuntimeError("another secret of the history") from error

    with caplog.at_level(logging.INFO):
        async with connect(create_app(step=scripted(fail).as_step)) as client:
            answer = await client.post("/compact_context", json=body)
    document = check(answer, 500, "internal_error")
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    told = record.getMessage().partition(": ")[2]
    assert told.startswith("RuntimeError at ")
    assert "KeyError at test_problems.py" in told
    assert document["instance"].startswith("urn:reme-compact:job:")
    assert "secret" not in str(record.__dict__)


async def test_an_application_that_was_not_started_says_so(
    connect_unstarted: Callable[[FastAPI], httpx.AsyncClient], body: Any
) -> None:
    async with connect_unstarted(create_app()) as client:
        document = check(await client.post("/compact_context", json=body), 500, "invalid_configuration")
    assert "lifespan" in document["message"]


async def test_a_host_application_may_add_routes_with_parameters(
    scripted: Callable[..., Any], connect: Connect
) -> None:
    app = create_app(step=scripted().as_step)

    @app.get("/extra")
    async def extra(number: int) -> int:
        return number

    async with connect(app) as client:
        document = check(await client.get("/extra?number=secret"), 422, "invalid_request")
    assert [problem["path"] for problem in document["problems"]] == ["query.number"]
    assert "secret" not in str(document)
