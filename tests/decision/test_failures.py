"""Whatever library fails, and however, the failure is typed, in our words, and quotes nothing."""

import asyncio
import json
import socket
import ssl
from typing import Any

import httpx
import httpx2
import openai
import pydantic
import pytest
import typesafe_sdk

from reme_compact.contract.errors import DecisionModelError
from reme_compact.decision.failures import UNREADABLE_ANSWER, classify_failure

PRIVATE = "private text"


def _typesafe(status: int) -> BaseException:
    classes: dict[int, Any] = {
        400: typesafe_sdk.TypeSafeBadRequestError,
        401: typesafe_sdk.TypeSafeAuthenticationError,
        403: typesafe_sdk.TypeSafePermissionDeniedError,
        404: typesafe_sdk.TypeSafeNotFoundError,
        422: typesafe_sdk.TypeSafeUnprocessableEntityError,
        429: typesafe_sdk.TypeSafeRateLimitError,
        500: typesafe_sdk.TypeSafeInternalServerError,
    }
    body = {"detail": PRIVATE}
    error: BaseException = classes.get(status, typesafe_sdk.TypeSafeAPIError)(status, body, httpx2.Headers())
    return error


def _openai(status: int) -> BaseException:
    response = httpx2.Response(status, request=httpx2.Request("POST", "http://127.0.0.1/decisions"))
    return openai.APIStatusError(PRIVATE, response=response, body=None)


def _httpx(status: int) -> BaseException:
    request = httpx.Request("POST", "http://127.0.0.1")
    return httpx.HTTPStatusError(PRIVATE, request=request, response=httpx.Response(status, request=request))


def _code_only(status: int) -> BaseException:
    error = RuntimeError(PRIVATE)
    error.code = status  # type: ignore[attr-defined]
    return error


def _wrapped(status: int) -> BaseException:
    error = RuntimeError(PRIVATE)
    error.__cause__ = _httpx(status)
    return error


STATUSES = {
    307: ("decision_model_not_found", True),
    400: ("request_refused", False),
    401: ("authentication_failed", True),
    402: ("authentication_failed", True),
    403: ("authentication_failed", True),
    404: ("decision_model_not_found", True),
    408: ("provider_timeout", False),
    413: ("request_refused", False),
    418: ("request_refused", False),
    422: ("request_refused", False),
    429: ("rate_limited", False),
    500: ("provider_error", False),
    503: ("provider_error", False),
    529: ("provider_error", False),
}


@pytest.mark.parametrize("make", [_typesafe, _openai, _httpx, _code_only, _wrapped])
@pytest.mark.parametrize("status", STATUSES)
def test_a_status_decides(make: Any, status: int) -> None:
    failure = classify_failure(make(status))
    assert (failure.fields()["code"], failure.fatal) == STATUSES[status]
    assert f"HTTP {status}" in failure.message
    assert PRIVATE not in failure.message


def _caused(error: BaseException, cause: BaseException) -> BaseException:
    error.__cause__ = cause
    return error


REQUEST = httpx2.Request("POST", "http://127.0.0.1")
UNREADABLE_TYPESAFE = typesafe_sdk.TypeSafeAPIResponseValidationError(200, PRIVATE, httpx2.Headers(), "answers")
UNREADABLE_OPENAI = openai.APIResponseValidationError(httpx2.Response(200, request=REQUEST), None, message=PRIVATE)


class _Model(pydantic.BaseModel):
    probability: float


def _invalid() -> BaseException:
    with pytest.raises(pydantic.ValidationError) as caught:
        _Model.model_validate({"probability": PRIVATE})
    return caught.value


@pytest.mark.parametrize(
    ("error", "code", "fatal"),
    [
        (typesafe_sdk.TypeSafeAPITimeoutError(1.0), "provider_timeout", False),
        (openai.APITimeoutError(REQUEST), "provider_timeout", False),
        (httpx.ReadTimeout(PRIVATE), "provider_timeout", False),
        (httpx2.ConnectTimeout(PRIVATE), "provider_timeout", False),
        (TimeoutError(PRIVATE), "provider_timeout", False),
        (typesafe_sdk.TypeSafeAPIConnectionError(PRIVATE), "provider_unreachable", False),
        (openai.APIConnectionError(request=REQUEST), "provider_unreachable", False),
        (httpx.ConnectError(PRIVATE), "provider_unreachable", False),
        (httpx2.RemoteProtocolError(PRIVATE), "provider_unreachable", False),
        (ConnectionRefusedError(PRIVATE), "provider_unreachable", False),
        (socket.gaierror(PRIVATE), "provider_unreachable", False),
        (ssl.SSLCertVerificationError(PRIVATE), "provider_unreachable", False),
        (
            _caused(typesafe_sdk.TypeSafeAPIConnectionError(PRIVATE), httpx2.UnsupportedProtocol(PRIVATE)),
            "invalid_configuration",
            True,
        ),
        (httpx2.InvalidURL(PRIVATE), "invalid_configuration", True),
        (typesafe_sdk.TypeSafeError(PRIVATE), "invalid_configuration", True),
        (openai.OpenAIError(PRIVATE), "invalid_configuration", True),
        (openai.APIError(PRIVATE, REQUEST, body=None), "provider_error", False),
        (UNREADABLE_TYPESAFE, "invalid_response", False),
        (UNREADABLE_OPENAI, "invalid_response", False),
        (json.JSONDecodeError(PRIVATE, PRIVATE, 0), "invalid_response", False),
        (_invalid(), "invalid_response", False),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, PRIVATE), "invalid_response", False),
        (UnicodeEncodeError("utf-8", PRIVATE, 0, 1, PRIVATE), "request_refused", False),
        (
            _caused(typesafe_sdk.TypeSafeError(PRIVATE), UnicodeEncodeError("utf-8", PRIVATE, 0, 1, PRIVATE)),
            "request_refused",
            False,
        ),
        (ExceptionGroup(PRIVATE, [ValueError(PRIVATE), TimeoutError(PRIVATE)]), "provider_timeout", False),
        (RuntimeError(PRIVATE), "decision_model_failed", False),
        (KeyError(PRIVATE), "decision_model_failed", False),
        (asyncio.CancelledError(PRIVATE), "decision_model_failed", False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_an_exception_without_a_status_is_known_by_its_classes(error: BaseException, code: str, fatal: bool) -> None:
    failure = classify_failure(error)
    assert (failure.fields()["code"], failure.fatal) == (code, fatal)
    assert type(error).__name__ in failure.message
    assert PRIVATE not in failure.message


def test_a_typed_failure_passes_unchanged_also_as_a_cause() -> None:
    failure = DecisionModelError("ours", code="ours", fatal=True)
    assert classify_failure(failure) is failure
    assert classify_failure(_caused(RuntimeError(), failure)) is failure


@pytest.mark.parametrize("status", [True, "401", 200, 1000, None, 4.01])
def test_what_is_no_failing_status_is_ignored(status: Any) -> None:
    error = RuntimeError()
    error.status_code = status  # type: ignore[attr-defined]
    assert classify_failure(error).fields()["code"] == "decision_model_failed"


def test_a_circle_of_causes_ends() -> None:
    first, second = RuntimeError(), RuntimeError()
    first.__cause__, second.__cause__ = second, first
    assert classify_failure(first).fields()["code"] == "decision_model_failed"


def test_a_caller_may_say_what_an_unknown_exception_means() -> None:
    unknown = classify_failure(AttributeError(PRIVATE), otherwise=UNREADABLE_ANSWER)
    assert unknown.fields()["code"] == "invalid_response"
    known = classify_failure(TimeoutError(), otherwise=UNREADABLE_ANSWER)
    assert known.fields()["code"] == "provider_timeout"
