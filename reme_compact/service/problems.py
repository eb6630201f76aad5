"""Every failure as a problem document (RFC 9457) with the four fields of this package's errors."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from reme_compact.contract import errors
from reme_compact.contract.errors import ErrorFields, ReMeError, ReportedError
from reme_compact.contract.json_bytes import json_bytes

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 1
RETRY_AFTER_HEADER = {"Retry-After": str(RETRY_AFTER_SECONDS)}


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
    errors.UnauthorizedError: (HTTPStatus.UNAUTHORIZED, "An API key is needed"),
    errors.OriginNotAllowedError: (HTTPStatus.FORBIDDEN, "The web page may not use the service"),
    errors.JobNotFoundError: (HTTPStatus.NOT_FOUND, "There is no such job"),
    errors.RequestTimeoutError: (HTTPStatus.REQUEST_TIMEOUT, "The request did not arrive in time"),
    errors.JobNotFinishedError: (HTTPStatus.CONFLICT, "The job is not finished"),
    errors.JobCancelledError: (HTTPStatus.CONFLICT, "The job was cancelled"),
    errors.JobExpiredError: (HTTPStatus.GONE, "The job was removed"),
    errors.RequestTooLargeError: (HTTPStatus(413), "The body is too large"),
    errors.UnsupportedMediaTypeError: (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "The body is not plain JSON"),
    errors.HostNotAllowedError: (HTTPStatus.MISDIRECTED_REQUEST, "The host is not served here"),
    errors.InvalidRequestError: (HTTPStatus(422), "The request breaks the contract"),
    errors.InvalidProposalError: (HTTPStatus(500), "The proposal would not be valid"),
    errors.TokenCounterError: (HTTPStatus(422), "The token counter failed"),
    errors.MissingExtraError: (HTTPStatus(422), "The service lacks an optional dependency"),
    errors.IdempotencyConflictError: (HTTPStatus(422), "The idempotency key belongs to another request"),
    errors.TooManyJobsError: (HTTPStatus.TOO_MANY_REQUESTS, "The API key has too many unfinished jobs"),
    errors.ConfigurationError: (HTTPStatus.INTERNAL_SERVER_ERROR, "The service is configured wrongly"),
    errors.MissingCredentialError: (HTTPStatus.INTERNAL_SERVER_ERROR, "The service lacks a credential"),
    errors.DecisionModelError: (HTTPStatus.BAD_GATEWAY, "The decision model failed"),
    errors.ReportedError: (HTTPStatus.BAD_GATEWAY, "Another service failed"),
    errors.ServiceUnavailableError: (HTTPStatus.SERVICE_UNAVAILABLE, "A service could not be reached"),
    errors.TooBusyError: (HTTPStatus.SERVICE_UNAVAILABLE, "The service is busy"),
    errors.StorageFullError: (HTTPStatus.SERVICE_UNAVAILABLE, "The service has no room for another job"),
    errors.StoreUnavailableError: (HTTPStatus.SERVICE_UNAVAILABLE, "The record of jobs cannot be reached"),
    errors.ArchiveError: (HTTPStatus.INTERNAL_SERVER_ERROR, "The archive failed"),
    errors.NoArchiveError: (HTTPStatus.NOT_FOUND, "The service has no archive"),
    errors.InvalidReferenceError: (HTTPStatus(422), "The reference is none of the archive's"),
    errors.ReferenceNotFoundError: (HTTPStatus.NOT_FOUND, "There is no such original"),
    errors.ArchiveDamagedError: (HTTPStatus.INTERNAL_SERVER_ERROR, "The original is damaged"),
    errors.ArchiveUnavailableError: (HTTPStatus.SERVICE_UNAVAILABLE, "The archive cannot be reached"),
    errors.ServiceStoppingError: (HTTPStatus.SERVICE_UNAVAILABLE, "The service is stopping"),
    errors.StartTimeoutError: (HTTPStatus.GATEWAY_TIMEOUT, "The job was not started in time"),
    errors.ReMeError: (HTTPStatus.INTERNAL_SERVER_ERROR, "The request failed"),
}
"""How each error is answered. A class that is not listed is answered as its nearest listed base."""

_BY_NAME = {kind.__name__: kind for kind in STATUS_AND_TITLE}

_WORTH_ANOTHER_TRY = (
    errors.TooBusyError,
    errors.TooManyJobsError,
    errors.StorageFullError,
    errors.StoreUnavailableError,
    errors.ArchiveUnavailableError,
    errors.ServiceStoppingError,
    errors.JobNotFinishedError,
)
"""Errors that pass by themselves, so that their answers say when to try again."""


def status_and_title(kind: type[ReMeError]) -> tuple[HTTPStatus, str]:
    """Look a class up in the table."""
    return next(STATUS_AND_TITLE[base] for base in kind.__mro__ if base in STATUS_AND_TITLE)


def problem_fields(error: ReMeError, instance: str | None = None) -> dict[str, Any]:
    """Describe a typed error as the fields of a `Problem`; a reported one as the class that it names."""
    status, title = status_and_title(_BY_NAME.get(error.error, type(error)))
    return _fields(status, title, error.fields(), instance) | error.extra()


def problem_of(error: ReMeError) -> Response:
    """Answer a typed error."""
    return _document(problem_fields(error), headers_of(error))


def problem_of_job(job_id: str, error: ReportedError, otherwise: HTTPStatus) -> Response:
    """Answer the error with which a job ended; its instance is the job, which log lines name.

    Args:
        job_id: the job.
        error: the job's own.
        otherwise: the status if it names no error of ours.

    """
    fields = problem_fields(error, instance=f"urn:reme-compact:job:{job_id}")
    if error.error not in _BY_NAME:
        fields |= {"status": int(otherwise), "title": "The job failed"}
    return _document(fields)


def headers_of(error: ReMeError) -> dict[str, str]:
    """Return the headers that belong to a typed error."""
    if isinstance(error, _WORTH_ANOTHER_TRY):
        return RETRY_AFTER_HEADER
    return {"WWW-Authenticate": "Bearer"} if isinstance(error, errors.UnauthorizedError) else {}


def problem_of_http(status: int, detail: str, headers: Mapping[str, str] | None) -> Response:
    """Answer an error that the web framework raised (no such path, wrong method), with its own headers."""
    code, error, title = f"http_{status}", "HTTPError", "The request cannot be served"
    if status == HTTPStatus.NOT_FOUND:
        code, error, title = "not_found", "NotFound", "There is nothing at this path"
        detail = "There is nothing at this path; /openapi.json lists what there is."
    elif status == HTTPStatus.METHOD_NOT_ALLOWED:
        code, error, title = "method_not_allowed", "MethodNotAllowed", "The path does not serve this method"
        detail = "The path does not serve this method; the Allow header names those it does."
    elif status == HTTPStatus.BAD_REQUEST:
        code, error, title = "invalid_http", "InvalidHTTP", "The request is no HTTP"
        detail = "What arrived is no HTTP/1.1 request."
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
    return problem_of(
        errors.ServiceStoppingError(
            "The service is stopping and gave the request up. Send it again when the service is back."
        )
    )


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
