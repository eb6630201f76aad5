"""Say in our own words why a decision request failed, whatever library failed.

Hosts inject models of any provider, so nothing here imports one: an exception is known by its HTTP status, by the
names of its classes, and by what caused it. Nothing of its text is repeated, because providers quote requests.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from reme_compact.contract.errors import DecisionModelError

_LONGEST_CHAIN = 10


@dataclass(frozen=True, slots=True)
class FailureKind:
    """One way in which a decision request fails, and what to say about it."""

    code: str
    message: str
    fatal: bool = False


UNKNOWN = FailureKind(DecisionModelError.code, "The decision model failed")
UNREADABLE_ANSWER = FailureKind("invalid_response", "The decision model's answer cannot be read")

_REFUSED_CREDENTIALS = FailureKind(
    "authentication_failed", "The decision model refused the credentials; check the API key", fatal=True
)
_NO_CREDIT = FailureKind(
    "authentication_failed", "The decision model's account cannot pay for this request", fatal=True
)
_NOT_FOUND = FailureKind(
    "decision_model_not_found",
    "The decision model was not found at its address; check the base URL and the model name",
    fatal=True,
)
_MISCONFIGURED = FailureKind(
    "invalid_configuration",
    "The decision model's client refuses its configuration; check base URL, model name and key",
    fatal=True,
)
_RATE_LIMITED = FailureKind("rate_limited", "The decision model says that there are too many requests")
_REFUSED = FailureKind("request_refused", "The decision model refused this request")
_NOT_ENCODABLE = FailureKind("request_refused", "The decision request cannot be encoded")
_PROVIDER_ERROR = FailureKind("provider_error", "The decision model failed on its own side")
_UNREACHABLE = FailureKind("provider_unreachable", "The decision model cannot be reached")
_TIMED_OUT = FailureKind("provider_timeout", "The decision model did not answer within its timeout")

_BY_STATUS = {
    **dict.fromkeys((301, 302, 303, 307, 308, 404, 405, 410), _NOT_FOUND),
    **dict.fromkeys((401, 403), _REFUSED_CREDENTIALS),
    402: _NO_CREDIT,
    408: _TIMED_OUT,
    429: _RATE_LIMITED,
    504: _TIMED_OUT,
}

# The most special comes first: SDKs derive a timeout from a connection error, and both from their base class.
_BY_CLASS_NAME: tuple[tuple[FailureKind, frozenset[str]], ...] = (
    (
        UNREADABLE_ANSWER,
        frozenset(
            {
                "APIResponseValidationError",
                "DecodingError",
                "JSONDecodeError",
                "TypeSafeAPIResponseValidationError",
                "UnicodeDecodeError",
                "ValidationError",
            }
        ),
    ),
    (_NOT_ENCODABLE, frozenset({"JSONEncodeError", "PydanticSerializationError", "UnicodeEncodeError"})),
    (_TIMED_OUT, frozenset({"APITimeoutError", "Timeout", "TimeoutError", "TimeoutException"})),
    (
        _MISCONFIGURED,
        frozenset({"ConfigurationError", "InvalidSchema", "InvalidURL", "MissingSchema", "UnsupportedProtocol"}),
    ),
    (
        _UNREACHABLE,
        frozenset({"APIConnectionError", "ClientConnectionError", "ConnectionError", "SSLError", "TransportError"}),
    ),
    (_UNREACHABLE, frozenset({"RequestError", "gaierror"})),
    (_PROVIDER_ERROR, frozenset({"APIError"})),
    (_MISCONFIGURED, frozenset({"OpenAIError", "TypeSafeError"})),
)


def classify_failure(error: BaseException, *, otherwise: FailureKind = UNKNOWN) -> DecisionModelError:
    """Turn any exception of any decision model into a typed failure, without quoting it.

    Refused credentials and wrong configuration are fatal; everything else concerns one request only.

    Args:
        error: what was raised; what caused it, and the members of a group, are looked at too.
        otherwise: what an exception means that says nothing about itself.

    """
    chain = list(_chain(error))
    typed = next((cause for cause in chain if isinstance(cause, DecisionModelError)), None)
    if typed is not None:
        return typed
    status = next((status for status in map(_status, chain) if status is not None), None)
    if status is not None:
        return _failure(_kind_of_status(status), f"HTTP {status}")
    names = {kind.__name__ for cause in chain for kind in type(cause).__mro__}
    named = next((kind for kind, known in _BY_CLASS_NAME if known & names), otherwise)
    return _failure(named, type(error).__name__)


def _failure(kind: FailureKind, detail: str) -> DecisionModelError:
    return DecisionModelError(f"{kind.message} ({detail}).", code=kind.code, fatal=kind.fatal)


def _kind_of_status(status: int) -> FailureKind:
    return _BY_STATUS.get(status, _PROVIDER_ERROR if status >= 500 else _REFUSED)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, then the members of a group and what caused each, nearest first."""
    pending = [error]
    for _ in range(_LONGEST_CHAIN):
        if not pending:
            return
        current = pending.pop(0)
        yield current
        if isinstance(current, BaseExceptionGroup):
            pending.extend(current.exceptions)
        if current.__cause__ is not None:
            pending.append(current.__cause__)


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of a failure that an exception carries, under whatever name."""
    response = getattr(error, "response", None)
    own = (getattr(error, name, None) for name in ("status_code", "status", "code"))
    for value in (*own, getattr(response, "status_code", None), getattr(response, "status", None)):
        if isinstance(value, int) and not isinstance(value, bool) and 300 <= value < 600:
            return int(value)
    return None
