"""Calls to a running service: JSON in, JSON out, and every refusal as a typed error."""

import http.client
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any

from reme_compact.cli.address import Address
from reme_compact.cli.authorization import API_KEY_VARIABLE, authorization
from reme_compact.cli.encoding import to_json
from reme_compact.cli.exchange import Sent, exchange
from reme_compact.cli.unreachable import not_a_service, not_answering
from reme_compact.contract.errors import (
    ErrorFields,
    InvalidJSONError,
    ReMeError,
    ReportedError,
    UnauthorizedError,
)
from reme_compact.contract.strict_json import parse_json


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
        self._document = document

    def extra(self) -> dict[str, Any]:
        """Return the single problems, if the service named any."""
        problems = self._document.get("problems")
        return {"problems": problems} if problems else {}

    def advised(self, advice: str) -> "ReportedProblemError":
        """Return the same problem with lines of advice below its message."""
        return ReportedProblemError({**self._document, "message": f"{self.message}\n{advice}"})

    def without_prefix(self, prefix: str) -> "ReportedProblemError":
        """Return the same problem without what stands before some of the keys that it names."""
        problems, message = self._document.get("problems"), self.message
        if not isinstance(problems, list) or not all(isinstance(one, Mapping) for one in problems):
            return self
        bare = [{**one, "path": str(one.get("path", "")).removeprefix(prefix)} for one in problems]
        for before, after in zip(problems, bare, strict=True):
            message = message.replace(f"{before.get('path')}: ", f"{after['path']}: ")
        return ReportedProblemError({**self._document, "message": message, "problems": bare})


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service answered that did not refuse: plain data, null if it is no JSON."""

    address: Address
    status: int
    headers: Message
    value: Any

    def unlike_a_service(self, flaw: str) -> ReMeError:
        """Say that a service would not answer so."""
        return not_a_service(self.address, f"HTTP status {self.status}; {flaw}")


def call_service(
    address: Address,
    method: str,
    path: str,
    *,
    request: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_seconds: float,
) -> Answer:
    """Send a request and return what is answered as plain data.

    Args:
        address: the service.
        method: the HTTP method.
        path: path and query, percent-encoded.
        request: sent as JSON; null: no body.
        headers: further headers.
        timeout_seconds: for the whole call.

    Raises:
        ServiceUnavailableError: nothing that speaks this protocol answered in time.
        ReportedError: the service refused the request or failed.
        UsageError: the address cannot be called.
        ConfigurationError: the API key in the environment cannot be one.

    """
    body = None if request is None else to_json(request).encode()
    json_headers = {"Accept": "application/json"} | ({} if body is None else {"Content-Type": "application/json"})
    sent = Sent(method, path, {**json_headers, **authorization(), **(headers or {})}, body)
    reply = exchange(address, sent, timeout_seconds=timeout_seconds)
    value = json_or_none(reply.body)
    if http.client.OK <= reply.status < http.client.MULTIPLE_CHOICES:
        return Answer(address, reply.status, reply.headers, value)
    raise refusal(address, reply.status, value)


def refusal(address: Address, status: int, value: Any) -> ReMeError:
    """Return what a reply with any other status than success means."""
    if status >= http.client.BAD_REQUEST and is_problem(value):
        problem = ReportedProblemError(value)
        return problem.advised(_key_advice()) if status == http.client.UNAUTHORIZED else problem
    if status == http.client.UNAUTHORIZED:
        return UnauthorizedError(f"What answers at {address} wants a key.\n{_key_advice()}")
    return not_answering(address, status)


def is_problem(value: Any) -> bool:
    """Tell whether plain data holds the four fields of a failure."""
    if not isinstance(value, dict):
        return False
    texts = all(isinstance(value.get(name), str) for name in ("code", "error", "message"))
    return texts and isinstance(value.get("retryable"), bool)


def json_or_none(body: bytes) -> Any:
    """Return what a body says; null if it is no JSON."""
    try:
        return parse_json(body)
    except InvalidJSONError:
        return None


def _key_advice() -> str:
    if authorization():
        return f"The key in {API_KEY_VARIABLE} is not one that this service knows; ask whoever runs it for another."
    return f"Put a key that this service knows into the environment variable {API_KEY_VARIABLE}."
