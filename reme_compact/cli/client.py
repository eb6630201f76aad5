"""One call to a running service over HTTP.

The standard library's client does: one request, to an address that was given, without proxies or redirects. It is
loaded in a tenth of the time that a full HTTP library takes, and a call is mostly start-up.
"""

import http.client
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from reme_compact.cli.address import Address
from reme_compact.cli.answer import flaw_of
from reme_compact.cli.encoding import to_json
from reme_compact.cli.usage import UsageError
from reme_compact.contract.errors import (
    ErrorFields,
    InvalidJSONError,
    ReportedError,
    ServiceUnavailableError,
)
from reme_compact.contract.strict_json import parse_json

START_COMMAND = "  reme start config=decision_compaction"
_PIECE = 1024 * 1024
_LONGEST_BODY = 1024 * _PIECE


class ReportedProblemError(ReportedError):
    """A problem document of the service, with the single problems it names."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(
            ErrorFields(
                code=document["code"],
                error=document["error"],
                message=document["message"],
                retryable=document["retryable"],
            )
        )
        self._problems = document.get("problems")

    def extra(self) -> dict[str, Any]:
        """Return the single problems, if the service named any."""
        return {"problems": self._problems} if self._problems else {}


def call_service(address: Address, job: str, request: Mapping[str, Any], *, timeout_seconds: float) -> dict[str, Any]:
    """Send a request and return the standard response as plain data.

    Raises:
        ServiceUnavailableError: nothing that speaks this protocol answered in time.
        ReportedError: the service refused the request or failed.
        UsageError: the address cannot be called.

    """
    http_status, body = _post_within(timeout_seconds, address, f"/{job}", to_json(request).encode())
    try:
        answer = parse_json(body)
    except InvalidJSONError:
        answer = None
    if http_status == http.client.OK:
        flaw = flaw_of(answer)
        if flaw is not None:
            raise _not_a_service(address, f"HTTP status {http_status}; {flaw}")
        proposal: dict[str, Any] = answer
        return proposal
    if http_status >= http.client.BAD_REQUEST and isinstance(answer, dict) and _is_problem(answer):
        raise ReportedProblemError(answer)
    raise _not_a_service(address, f"HTTP status {http_status}")


def _is_problem(answer: Mapping[str, Any]) -> bool:
    texts = all(isinstance(answer.get(name), str) for name in ("code", "error", "message"))
    return texts and isinstance(answer.get("retryable"), bool)


def _post_within(timeout_seconds: float, address: Address, path: str, body: bytes) -> tuple[int, bytes]:
    """Post in a thread, because socket timeouts bound single steps and name lookups not at all."""
    outcome: list[tuple[int, bytes] | BaseException] = []

    def run() -> None:
        try:
            outcome.append(_post(address, path, body, timeout_seconds))
        except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True, name="reme-call")
    thread.start()
    thread.join(timeout_seconds)
    result = outcome[0] if outcome else TimeoutError()
    if isinstance(result, BaseException):
        raise _explained(result, address, timeout_seconds) from None
    return result


def _post(address: Address, path: str, body: bytes, timeout_seconds: float) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=timeout_seconds)
    try:
        with suppress(BrokenPipeError, ConnectionResetError):  # a body that is refused is answered before its end
            connection.request("POST", path, body, {"Content-Type": "application/json", "Accept": "application/json"})
        response = connection.getresponse()
        return response.status, _read(response)
    finally:
        connection.close()


def _read(response: http.client.HTTPResponse) -> bytes:
    """Read a body in pieces: the length that a stranger declares may be any number, and its end may never come."""
    body = bytearray()
    while piece := response.read(_PIECE):
        body += piece
        if len(body) > _LONGEST_BODY:
            raise http.client.HTTPException
    if response.length:
        raise http.client.IncompleteRead(b"")
    return bytes(body)


def _explained(error: BaseException, address: Address, timeout_seconds: float) -> BaseException:
    """Return what a failed exchange means to the caller; anything unexpected stays what it is."""
    if isinstance(error, TimeoutError):
        return ServiceUnavailableError(
            f"The service at {address} did not answer within {timeout_seconds:g} seconds (timeout= allows more)."
        )
    if isinstance(error, ConnectionResetError | BrokenPipeError | http.client.IncompleteRead):
        return ServiceUnavailableError(f"The connection to {address} broke before an answer came.")
    if isinstance(error, http.client.InvalidURL | UnicodeError):
        return UsageError("host: must be a name or an address.")
    if isinstance(error, http.client.HTTPException):
        return _not_a_service(address, "no HTTP that can be read")
    if isinstance(error, socket.gaierror):
        return _unreachable(
            f"The host '{address.host}' cannot be found ({error.strerror}); check host=.",
            retryable=error.errno == socket.EAI_AGAIN,
        )
    if isinstance(error, OSError):
        cause = f" ({error.strerror})" if error.strerror else ""
        return _unreachable(f"No service answers at {address}{cause}. Start one with:\n{START_COMMAND}", retryable=True)
    return error


def _not_a_service(address: Address, found: str) -> ServiceUnavailableError:
    """Say that something else has the address; it will have it the next time, too."""
    return _unreachable(
        f"What answers at {address} is not a reme service ({found}); check host= and port=.\n"
        f"A service can listen on another port:\n{START_COMMAND} service.port=2334",
        retryable=False,
    )


def _unreachable(message: str, *, retryable: bool) -> ServiceUnavailableError:
    error = ServiceUnavailableError(message)
    error.retryable = retryable
    return error
