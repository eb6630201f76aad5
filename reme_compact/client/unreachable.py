"""What a failed exchange means to the caller: nobody is there, or somebody else is."""

import http.client
import socket

from reme_compact.client.address import Address
from reme_compact.client.errors import (
    AnswerLostError,
    InvalidAddressError,
    NobodyListensError,
    ServiceUnreachableError,
)

START_COMMAND = "  reme start config=decision_compaction"
_GATEWAY_STATUSES = frozenset({502, 503, 504})


def explained(error: BaseException, address: Address, timeout_seconds: float) -> BaseException:
    """Return what a failed exchange means to the caller; anything unexpected stays what it is."""
    if isinstance(error, TimeoutError):
        return AnswerLostError(
            f"The service at {address} did not answer within {timeout_seconds:g} seconds (timeout= allows more)."
        )
    if isinstance(error, ConnectionResetError | BrokenPipeError | http.client.IncompleteRead):
        return AnswerLostError(f"The connection to {address} broke before an answer came.")
    if isinstance(error, http.client.InvalidURL | UnicodeError):
        return InvalidAddressError("host: must be a name or an address.")
    if isinstance(error, http.client.HTTPException):
        return not_a_service(address, "no HTTP that can be read")
    if isinstance(error, socket.gaierror):
        return _unreachable(
            f"The host '{address.host}' cannot be found ({error.strerror}); check {address.named_host}.",
            retryable=error.errno == socket.EAI_AGAIN,
        )
    if isinstance(error, OSError):
        cause = f" ({error.strerror})" if error.strerror else ""
        kind = NobodyListensError if isinstance(error, ConnectionRefusedError) else ServiceUnreachableError
        return kind(f"No service answers at {address}{cause}. Start one with:\n{START_COMMAND}")
    return error


def silent(address: Address, silence_seconds: float) -> ServiceUnreachableError:
    """Say that a stream brought nothing for longer than a service ever keeps quiet."""
    return ServiceUnreachableError(f"The service at {address} said nothing for {silence_seconds:g} seconds.")


def not_a_service(address: Address, found: str) -> ServiceUnreachableError:
    """Say that something else has the address; it will have it the next time, too."""
    return _unreachable(
        f"What answers at {address} is not a reme service ({found}); check {address.named_whole}.\n"
        f"A service can listen on another port:\n{START_COMMAND} service.port=2334",
        retryable=False,
    )


def not_answering(address: Address, status: int) -> ServiceUnreachableError:
    """Say that a reply without a problem document came, perhaps from a gateway whose service is away."""
    if status in _GATEWAY_STATUSES:
        return AnswerLostError(f"What answers at {address} says that its service is away (HTTP {status}).")
    return not_a_service(address, f"HTTP status {status}")


def _unreachable(message: str, *, retryable: bool) -> ServiceUnreachableError:
    error = ServiceUnreachableError(message)
    error.retryable = retryable
    return error
