"""Failures, as the OpenAPI document describes them: by status, with an example of each code."""

from typing import Any, TypeAlias

from reme_compact.contract import errors
from reme_compact.contract.errors import ReMeError, ReportedError
from reme_compact.service.documented_headers import AUTHENTICATE, RETRY_AFTER
from reme_compact.service.problems import MEDIA_TYPE, headers_of, problem_fields, status_and_title

Responses: TypeAlias = dict[int | str, dict[str, Any]]
"""What FastAPI wants to know of the answers of a path."""

PROBLEM_SCHEMA = {"$ref": "#/components/schemas/Problem"}

_EXAMPLE_INSTANCE = "urn:uuid:6d0c5f0e-3c5e-4a57-9d5b-0a8f4c1f2b11"

_EXAMPLES: tuple[ReMeError, ...] = (
    errors.InvalidJSONError("Not valid JSON: Expecting value at line 1, column 1."),
    errors.UnauthorizedError("This service needs an API key. Send it as the header Authorization: Bearer KEY."),
    errors.OriginNotAllowedError("A web page from elsewhere may not use this service."),
    errors.JobNotFoundError("There is no such job."),
    errors.NoArchiveError("This service keeps no originals; its preset has no archive.location."),
    errors.ReferenceNotFoundError("The archive keeps nothing under this reference for this session."),
    errors.RequestTimeoutError("The body did not arrive within 30 s (service.request_read_seconds)."),
    errors.JobNotFinishedError("The job is running; it has no result yet. Ask again later."),
    errors.JobCancelledError("The job was cancelled, so it has no result."),
    errors.JobExpiredError("The job was finished so long ago that it and its result have been removed."),
    errors.RequestTooLargeError("The body is larger than 67108864 bytes (service.max_body_bytes)."),
    errors.UnsupportedMediaTypeError("Send the request as JSON, with the header Content-Type: application/json."),
    errors.HostNotAllowedError("The service does not answer to the host 'example.org'."),
    errors.InvalidRequestError(
        [{"path": "options.drop_treshold", "message": "unknown key; did you mean 'drop_threshold'?"}]
    ),
    errors.InvalidReferenceError("This is not a reference into the archive."),
    errors.TokenCounterError("The token counter 'o200k_base' failed: ValueError."),
    errors.MissingExtraError("The token counter 'o200k_base'", "tokenizers"),
    errors.IdempotencyConflictError("The Idempotency-Key was used before, with another request."),
    errors.TooManyJobsError("The API key has as many unfinished jobs as it may. Try again when one is finished."),
    errors.ArchiveDamagedError("An original in the archive is damaged."),
    errors.TooBusyError("The service already works on 64 requests, its limit. Try again shortly."),
    errors.StorageFullError("The service keeps as many bytes as it may. Try again later."),
    errors.StoreUnavailableError("The record of jobs cannot be reached. Try again shortly."),
    errors.ArchiveUnavailableError("The archive's directory cannot be used: Input/output error."),
    errors.ServiceStoppingError(),
    errors.StartTimeoutError("The job was not started within 300 s; nothing was asked."),
)

_BUG = ReportedError(
    {
        "code": "internal_error",
        "error": "InternalError",
        "message": "The service failed unexpectedly; its log tells where, under the instance.",
        "retryable": False,
    }
)

ANY_PATH: tuple[type[ReMeError], ...] = (errors.UnauthorizedError, errors.HostNotAllowedError)
"""Raised before a path is looked at."""

ANY_CHANGE: tuple[type[ReMeError], ...] = (*ANY_PATH, errors.OriginNotAllowedError)
"""Raised before a path is looked at, if the request may change something."""

ANY_BODY: tuple[type[ReMeError], ...] = (
    errors.InvalidJSONError,
    errors.RequestTimeoutError,
    errors.RequestTooLargeError,
    errors.UnsupportedMediaTypeError,
    errors.InvalidRequestError,
    errors.MissingExtraError,
)
"""Raised for what is wrong with a body."""

ANY_JOB: tuple[type[ReMeError], ...] = (
    errors.JobNotFoundError,
    errors.JobExpiredError,
    errors.StoreUnavailableError,
    errors.ServiceStoppingError,
)
"""Raised when a job is looked for."""

ANY_ORIGINAL: tuple[type[ReMeError], ...] = (
    errors.NoArchiveError,
    errors.InvalidReferenceError,
    errors.ReferenceNotFoundError,
    errors.ArchiveDamagedError,
    errors.ArchiveUnavailableError,
)
"""Raised when an original is read back."""

ADMISSION: tuple[type[ReMeError], ...] = (
    errors.IdempotencyConflictError,
    errors.TooManyJobsError,
    errors.TooBusyError,
    errors.StorageFullError,
    errors.StoreUnavailableError,
    errors.ServiceStoppingError,
)
"""Raised when a job is not accepted."""


def failures(*kinds: type[ReMeError]) -> Responses:
    """Describe the answers to these errors, and to a failure that nobody foresaw."""
    described: Responses = {}
    for example in _EXAMPLES:
        if isinstance(example, kinds):
            status, title = status_and_title(type(example))
            _describe(described, int(status), title, example)
            _add_headers(described[int(status)], example)
    _describe(described, 500, "The service is configured wrongly, or failed unexpectedly", _BUG)
    return dict(sorted(described.items()))


def _describe(described: Responses, status: int, title: str, example: ReMeError) -> None:
    response = described.setdefault(
        status, {"description": title, "content": {MEDIA_TYPE: {"schema": PROBLEM_SCHEMA, "examples": {}}}}
    )
    if title not in response["description"]:
        response["description"] += f"; or: {title}"
    value = problem_fields(example, instance=_EXAMPLE_INSTANCE) | {"status": status, "title": title}
    response["content"][MEDIA_TYPE]["examples"][example.code] = {"summary": title, "value": value}


def _add_headers(response: dict[str, Any], example: ReMeError) -> None:
    headers = headers_of(example)
    if "Retry-After" in headers:
        response["headers"] = RETRY_AFTER
    elif "WWW-Authenticate" in headers:
        response["headers"] = AUTHENTICATE
