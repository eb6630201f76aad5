"""Every failure as a problem document (RFC 9457) with the four fields of this package's errors."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from reme_compact.contract import errors
from reme_compact.contract.errors import ErrorFields, ReMeError
from reme_compact.service.json_bytes import json_bytes

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 1
_RETRY_AFTER_HEADER = {"Retry-After": str(RETRY_AFTER_SECONDS)}


class FourFields(BaseModel):
    """What every failure tells, here and everywhere else in reme-compact."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: str = Field(description="The cause, for programs.")
    error: str = Field(description="Name of the kind of error.")
    message: str = Field(description="What is wrong and how to mend it.")
    retryable: bool = Field(description="Whether the same request may succeed later.")


class WrongField(BaseModel):
    """One thing wrong with one field of a request."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(description="Where, as in `messages[3].content`.")
    message: str


class Problem(FourFields):
    """A failure: the four fields, and what RFC 9457 wants."""

    type: str = Field(description="A URN that names the kind of problem; it ends in the code.")
    title: str = Field(description="The kind of problem, for people; the same for equal types.")
    status: int = Field(ge=400, le=599)
    detail: str = Field(description="Equal to message.")
    instance: str = Field(description="A URN that names this one occurrence; a log line about it holds it too.")
    problems: list[WrongField] = Field(
        default_factory=list, description="Only with code invalid_request: each field that is wrong."
    )


STATUS_AND_TITLE: dict[type[ReMeError], tuple[HTTPStatus, str]] = {
    errors.InvalidJSONError: (HTTPStatus.BAD_REQUEST, "The body is not acceptable JSON"),
    errors.RequestTimeoutError: (HTTPStatus.REQUEST_TIMEOUT, "The request did not arrive in time"),
    errors.RequestTooLargeError: (HTTPStatus(413), "The body is too large"),
    errors.UnsupportedMediaTypeError: (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body is not plain JSON"),
    errors.InvalidRequestError: (HTTPStatus(422), "The request breaks the contract"),
    errors.TokenCounterError: (HTTPStatus(422), "The token counter failed"),
    errors.ConfigurationError: (HTTPStatus.INTERNAL_SERVER_ERROR, "The service is configured wrongly"),
    errors.MissingCredentialError: (HTTPStatus.INTERNAL_SERVER_ERROR, "The service lacks a credential"),
    errors.MissingExtraError: (HTTPStatus(422), "The service lacks an optional dependency"),
    errors.DecisionModelError: (HTTPStatus.BAD_GATEWAY, "The decision model failed"),
    errors.ReportedError: (HTTPStatus.BAD_GATEWAY, "Another service failed"),
    errors.ServiceUnavailableError: (HTTPStatus.SERVICE_UNAVAILABLE, "A service could not be reached"),
    errors.TooBusyError: (HTTPStatus.SERVICE_UNAVAILABLE, "The service is busy"),
    errors.ReMeError: (HTTPStatus.INTERNAL_SERVER_ERROR, "The request failed"),
}
"""How each error is answered. A class that is not listed is answered as its nearest listed base."""


def status_and_title(kind: type[ReMeError]) -> tuple[HTTPStatus, str]:
    """Look a class up in the table."""
    return next(STATUS_AND_TITLE[base] for base in kind.__mro__ if base in STATUS_AND_TITLE)


def problem_fields(error: ReMeError, instance: str | None = None) -> dict[str, Any]:
    """Describe a typed error as the fields of a `Problem`."""
    status, title = status_and_title(type(error))
    return _fields(status, title, error.fields(), instance) | error.extra()


def problem_of(error: ReMeError) -> Response:
    """Answer a typed error."""
    headers = _RETRY_AFTER_HEADER if isinstance(error, errors.TooBusyError) else None
    return _document(problem_fields(error), headers)


def problem_of_http(status: int, detail: str, headers: Mapping[str, str] | None) -> Response:
    """Answer an error that the web framework raised (no such path, wrong method), with its own headers."""
    code, error, title = f"http_{status}", "HTTPError", "The request cannot be served"
    if status == HTTPStatus.NOT_FOUND:
        code, error, title = "not_found", "NotFound", "There is nothing at this path"
        detail = "There is nothing at this path; /openapi.json lists what there is."
    elif status == HTTPStatus.METHOD_NOT_ALLOWED:
        code, error, title = "method_not_allowed", "MethodNotAllowed", "The path does not serve this method"
        detail = "The path does not serve this method; the Allow header names those it does."
    retryable = status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
    fields = ErrorFields(code=code, error=error, message=detail, retryable=retryable)
    return _document(_fields(status, title, fields), headers)


def problem_of_bug(instance: str) -> Response:
    """Answer a failure that nobody foresaw, without a word about its inside."""
    fields = ErrorFields(
        code="internal_error",
        error="InternalError",
        message=f"The service failed unexpectedly; its log tells where, under {instance}.",
        retryable=False,
    )
    return _document(_fields(HTTPStatus.INTERNAL_SERVER_ERROR, "The service failed", fields, instance))


def problem_of_stop() -> Response:
    """Answer a request whose work is cancelled because the service stops."""
    fields = ErrorFields(
        code="stopping",
        error="ServiceStopping",
        message="The service is stopping and gave the request up. Send it again when the service is back.",
        retryable=True,
    )
    return _document(_fields(HTTPStatus.SERVICE_UNAVAILABLE, "The service is stopping", fields), _RETRY_AFTER_HEADER)


def new_instance() -> str:
    """Name one occurrence."""
    return f"urn:uuid:{uuid4()}"


def _fields(status: int, title: str, error: ErrorFields, instance: str | None = None) -> dict[str, Any]:
    return {
        "type": f"urn:problem-type:reme-compact:{error['code']}",
        "title": title,
        "status": int(status),
        "detail": error["message"],
        "instance": instance or new_instance(),
        **error,
    }


def _document(fields: dict[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    return Response(json_bytes(fields), fields["status"], headers=dict(headers or {}), media_type=MEDIA_TYPE)
