"""Read one JSON request body, within limits."""

from typing import Any

import anyio
from starlette.datastructures import Headers
from starlette.requests import Request

from reme_compact.contract.errors import (
    InvalidJSONError,
    RequestTimeoutError,
    RequestTooLargeError,
    UnsupportedMediaTypeError,
)


def check_headers(headers: Headers, max_bytes: int) -> None:
    """Refuse a body by what its headers say of it, before any of it is read.

    Raises:
        UnsupportedMediaTypeError: it is not declared as JSON, or it is compressed.
        RequestTooLargeError: its declared length is above the limit.

    """
    if not _is_json(headers.get("content-type", "")):
        raise UnsupportedMediaTypeError("Send the request as JSON, with the header Content-Type: application/json.")
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaTypeError("Send the body without a Content-Encoding; compression is not supported.")
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > max_bytes:
        raise _too_large(max_bytes)


async def read_body(request: Request, max_bytes: int, max_seconds: float) -> list[bytes]:
    """Read the whole body, in the pieces in which it arrives; a declared length is not trusted.

    Raises:
        RequestTimeoutError: it was not complete in time.
        RequestTooLargeError: more arrived than the limit allows.
        InvalidJSONError: the body is empty.
        ClientDisconnect: the client went away before it was complete.

    """
    pieces: list[bytes] = []
    size = 0
    with anyio.move_on_after(max_seconds) as time_limit:
        async for chunk in request.stream():
            size += len(chunk)
            if size > max_bytes:
                raise _too_large(max_bytes)
            pieces.append(chunk)
    if time_limit.cancelled_caught:
        raise RequestTimeoutError(f"The body did not arrive within {max_seconds:g} s (service.request_read_seconds).")
    if not size:
        raise InvalidJSONError("The body is empty; send the request as a JSON object.")
    return pieces


def as_object(value: Any) -> dict[str, Any]:
    """Return parsed JSON if it is an object.

    Raises:
        InvalidJSONError: it is anything else.

    """
    if not isinstance(value, dict):
        raise InvalidJSONError("The body must be a JSON object with the request's keys.")
    return value


def _is_json(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type == "application/json" or (media_type.startswith("application/") and media_type.endswith("+json"))


def _too_large(max_bytes: int) -> RequestTooLargeError:
    return RequestTooLargeError(f"The body is larger than {max_bytes} bytes (service.max_body_bytes).")
