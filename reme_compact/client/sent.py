"""What goes over the wire and what comes back, before anybody asks what it means."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from reme_compact.contract.errors import InvalidRequestError

LONGEST_BODY = 1024 * 1024 * 1024
"""No service answers more bytes than this."""

PIECE = 1024 * 1024


class Headers(Protocol):
    """Header fields, whose names are found however they are written."""

    def get(self, name: str, /) -> str | None:
        """Return the value of a field; null without one."""
        ...

    def __contains__(self, name: str, /) -> bool:
        """Tell whether there is such a field."""
        ...


@dataclass(frozen=True, slots=True)
class Sent:
    """What is sent: the path is percent-encoded; `body` null means none."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, as it came."""

    status: int
    headers: Headers
    body: bytes


def json_sent(
    method: str,
    path: str,
    *,
    request: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Sent:
    """Return what is sent to a path that speaks JSON.

    Raises:
        InvalidRequestError: the request holds something that JSON cannot carry.

    """
    body = None if request is None else _json_bytes(request)
    json_headers = {"Accept": "application/json"} | ({} if body is None else {"Content-Type": "application/json"})
    return Sent(method, path, {**json_headers, **(headers or {})}, body)


def _json_bytes(request: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(request, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        try:
            return text.encode()
        except UnicodeEncodeError:  # a lone surrogate has to be escaped
            return json.dumps(request, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError, RecursionError):
        problem = "holds something that JSON cannot carry: an object, a number that is not finite, or itself"
        raise InvalidRequestError([{"path": "", "message": problem}]) from None
