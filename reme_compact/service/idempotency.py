"""Read `Idempotency-Key`: the name under which a client can send the same request twice and start it once."""

import re

from starlette.datastructures import Headers

from reme_compact.contract.errors import InvalidRequestError
from reme_compact.jobs.record import Accepted

HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotency-Replayed"
PATTERN = "^[!-~]{1,255}$"
_KEY = re.compile(PATTERN.removesuffix("$") + r"\Z")


def idempotency_key(headers: Headers) -> str | None:
    """Return the key, or null if none was sent.

    Raises:
        InvalidRequestError: it is sent twice, or is anything but 1 to 255 visible ASCII characters.

    """
    values = headers.getlist(HEADER)
    if not values:
        return None
    if len(values) > 1 or not _KEY.match(values[0]):
        problem = "must be sent once and have 1 to 255 visible ASCII characters, without spaces"
        raise InvalidRequestError([{"path": f"header.{HEADER}", "message": problem}])
    return values[0]


def replay_headers(accepted: Accepted) -> dict[str, str]:
    """Return the header that tells a client that its key had been used before."""
    return {} if accepted.is_new else {REPLAYED_HEADER: "true"}
