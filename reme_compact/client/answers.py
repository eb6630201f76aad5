"""What a reply means: plain data, or a refusal."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from reme_compact.client.address import Address
from reme_compact.client.problems import ReportedProblemError, is_problem
from reme_compact.client.sent import Headers, Reply
from reme_compact.client.unreachable import not_a_service, not_answering
from reme_compact.contract.errors import InvalidJSONError, ReMeError, UnauthorizedError
from reme_compact.contract.strict_json import parse_json


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service answered that did not refuse: plain data, null if it is no JSON."""

    address: Address
    status: int
    headers: Headers
    value: Any

    def unlike_a_service(self, flaw: str) -> ReMeError:
        """Say that a service would not answer so."""
        return not_a_service(self.address, f"HTTP status {self.status}; {flaw}")


def answer_of(address: Address, reply: Reply, *, accepts: frozenset[int] = frozenset()) -> Answer:
    """Return what a reply says.

    Args:
        address: who was asked.
        reply: what came back.
        accepts: statuses beyond success under which documents come that are no problems.

    Raises:
        ServiceUnreachableError: no service answers so.
        ReportedProblemError: the service refused the request or failed.
        UnauthorizedError: something before the service wants a key.

    """
    value = json_or_none(reply.body)
    if HTTPStatus.OK <= reply.status < HTTPStatus.MULTIPLE_CHOICES:
        return Answer(address, reply.status, reply.headers, value)
    if reply.status in accepts and value is not None and not is_problem(value):
        return Answer(address, reply.status, reply.headers, value)
    raise refusal(address, reply.status, value)


def refusal(address: Address, status: int, value: Any) -> ReMeError:
    """Return what a reply with any other status than success means."""
    if status >= HTTPStatus.BAD_REQUEST and is_problem(value):
        return ReportedProblemError(value, status)
    if status == HTTPStatus.UNAUTHORIZED:
        return UnauthorizedError(f"What answers at {address} wants a key.")
    return not_answering(address, status)


def json_or_none(body: bytes) -> Any:
    """Return what a body says; null if it is no JSON."""
    try:
        return parse_json(body)
    except InvalidJSONError:
        return None
