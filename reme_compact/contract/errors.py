"""Every failure a caller can meet, as one tree of typed errors with the same four fields."""

from collections.abc import Sequence
from typing import Any, TypedDict


class ErrorFields(TypedDict):
    """The four fields of every failure, the same in Python, HTTP, jobs and on the command line."""

    code: str
    error: str
    message: str
    retryable: bool


class FieldProblem(TypedDict):
    """One thing wrong with one field: its dotted path and what to do about it."""

    path: str
    message: str


class ReMeError(Exception):
    """Base of all errors raised on purpose.

    Attributes:
        code: stable, snake_case name of the cause, for programs.
        error: name of the kind of error, equal to the class name.
        message: what is wrong and how to mend it, for people; never message content or a credential.
        retryable: whether the same call may succeed later without a change.

    """

    code: str = "reme_error"
    retryable: bool = False

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    @property
    def error(self) -> str:
        """Name of the kind of error."""
        return type(self).__name__

    def fields(self) -> ErrorFields:
        """Return the four fields as plain data."""
        return {"code": self.code, "error": self.error, "message": self.message, "retryable": self.retryable}

    def extra(self) -> dict[str, Any]:
        """Return what an error knows beyond the four fields, as JSON."""
        return {}


class ReportedError(ReMeError):
    """A failure that happened elsewhere (in a service, in a job) and arrived as its four fields."""

    def __init__(self, fields: ErrorFields) -> None:
        super().__init__(fields["message"])
        self.code = fields["code"]
        self.retryable = fields["retryable"]
        self._error = fields["error"]

    @property
    def error(self) -> str:
        """Name of the kind of error, as it arrived."""
        return self._error


class InvalidRequestError(ReMeError):
    """The request breaks the contract; nothing was asked and nothing was changed."""

    code = "invalid_request"

    def __init__(self, problems: Sequence[FieldProblem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(f"{p['path']}: {p['message']}" if p["path"] else p["message"] for p in problems))

    def extra(self) -> dict[str, Any]:
        """Return the single problems."""
        return {"problems": self.problems}


class InvalidJSONError(ReMeError):
    """Text that should be JSON is not, or is JSON that cannot be carried faithfully."""

    code = "invalid_json"


class RequestTooLargeError(ReMeError):
    """A body or a value is larger than the configured limit."""

    code = "request_too_large"


class InvalidProposalError(ReMeError):
    """The proposal would break a rule of the history's provider that the history itself keeps; it is not returned."""

    code = "invalid_proposal"


class TokenCounterError(ReMeError):
    """A token counter raised, or returned something that is not a count."""

    code = "token_counter_failed"


class ConfigurationError(ReMeError):
    """A preset, an override or an environment variable is wrong."""

    code = "invalid_configuration"


class MissingCredentialError(ConfigurationError):
    """A decision model needs a credential that is not set."""

    code = "missing_credential"


class MissingExtraError(ConfigurationError):
    """An optional dependency is not installed."""

    code = "missing_extra"

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs an optional dependency. Install it with: pip install 'reme-compact[{extra}]'"
        )


class ServiceUnavailableError(ReMeError):
    """No service answers at the address that was tried."""

    code = "service_unreachable"
    retryable = True


class DecisionModelError(ReMeError):
    """A decision request failed.

    Never raised to a caller: it becomes an entry of `stats.errors`, and the batch's results are kept.

    Attributes:
        fatal: asking again with other evidence cannot help (credentials, configuration).

    """

    code = "decision_model_failed"
    retryable = True

    def __init__(self, message: str, *, code: str | None = None, fatal: bool = False) -> None:
        super().__init__(message)
        self.fatal = fatal
        self.retryable = not fatal
        if code is not None:
            self.code = code


class UnsupportedMediaTypeError(ReMeError):
    """A request body is not declared as plain JSON."""

    code = "unsupported_media_type"


class TooBusyError(ReMeError):
    """The service already works on as many requests as it accepts; nothing was read or asked."""

    code = "too_busy"
    retryable = True


class RequestTimeoutError(ReMeError):
    """The client took too long to send its request; nothing was asked."""

    code = "request_timeout"
    retryable = True


class JobNotFoundError(ReMeError):
    """There is no such job, or it belongs to somebody else."""

    code = "job_not_found"


class JobNotFinishedError(ReMeError):
    """The job has no result yet."""

    code = "job_not_finished"
    retryable = True


class JobExpiredError(ReMeError):
    """The job was finished so long ago that its result has been removed."""

    code = "job_expired"


class JobCancelledError(ReMeError):
    """The job was cancelled, so it has no result."""

    code = "job_cancelled"


class StartTimeoutError(ReMeError):
    """The job could not be started in time; nothing was asked."""

    code = "start_timeout"
    retryable = True


class IdempotencyConflictError(ReMeError):
    """An Idempotency-Key was used before, with another request."""

    code = "idempotency_conflict"


class TooManyJobsError(ReMeError):
    """The caller has as many unfinished jobs as its key allows."""

    code = "too_many_jobs"
    retryable = True


class StorageFullError(ReMeError):
    """The service keeps as many bytes of requests and results as it may; nothing was accepted."""

    code = "storage_full"
    retryable = True


class StoreUnavailableError(ReMeError):
    """The place where jobs are recorded cannot be reached; what is recorded there is not lost."""

    code = "store_unavailable"
    retryable = True


class UnauthorizedError(ReMeError):
    """The request carries no valid API key."""

    code = "unauthorized"


class HostNotAllowedError(ReMeError):
    """The request is addressed to a host name that the service does not answer to."""

    code = "host_not_allowed"


class ServiceStoppingError(ReMeError):
    """The service stops, and with it what it keeps in memory."""

    code = "stopping"
    retryable = True

    def __init__(
        self,
        message: str = "The service is stopping, and jobs that are kept in memory end with it. "
        "Send the request again when the service is back.",
    ) -> None:
        super().__init__(message)


class OriginNotAllowedError(ReMeError):
    """The request was made by a web page that may not use the service."""

    code = "origin_not_allowed"


class ArchiveError(ReMeError):
    """An original could not be kept, or could not be read back."""

    code = "archive_failed"


class NoArchiveError(ArchiveError):
    """No archive is configured here, so nothing can be read back."""

    code = "no_archive"


class InvalidReferenceError(ArchiveError):
    """A text that should be a reference into the archive is not one; nothing was looked up."""

    code = "invalid_reference"


class ReferenceNotFoundError(ArchiveError):
    """The archive keeps nothing under this reference for this session; perhaps it does for another."""

    code = "reference_not_found"


class ArchiveDamagedError(ArchiveError):
    """What the archive keeps is not what was once stored, so nothing of it is handed out."""

    code = "archive_damaged"


class ArchiveUnavailableError(ArchiveError):
    """The place where originals are kept cannot be written or read just now."""

    code = "archive_unavailable"
    retryable = True
