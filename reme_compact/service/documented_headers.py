"""Headers, as the OpenAPI document describes them."""

from typing import Any

from reme_compact.service.event_stream import EVENT_ID_PATTERN, LAST_EVENT_ID_HEADER
from reme_compact.service.idempotency import HEADER, PATTERN, REPLAYED_HEADER
from reme_compact.service.problems import RETRY_AFTER_SECONDS


def _request_header(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, "description": description, "schema": schema}


IDEMPOTENCY_KEY = _request_header(
    HEADER,
    "A name for this request: sent again with the same body, it means the same job.",
    {"type": "string", "pattern": PATTERN, "minLength": 1, "maxLength": 255},
)

PREFER = _request_header(
    "Prefer", "`wait=N`: answer as soon as the job is finished, or after N seconds.", {"type": "string"}
)

LAST_EVENT_ID = _request_header(
    LAST_EVENT_ID_HEADER,
    "Go on after this event instead of from the beginning.",
    {"type": "string", "pattern": EVENT_ID_PATTERN},
)

RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds to wait.",
        "schema": {"type": "integer"},
        "example": RETRY_AFTER_SECONDS,
    }
}

AUTHENTICATE = {
    "WWW-Authenticate": {"description": "How to send a key.", "required": True, "schema": {"type": "string"}}
}

REPLAYED = {
    REPLAYED_HEADER: {
        "description": "`true`: the Idempotency-Key was used before, and this is the answer to that.",
        "schema": {"type": "string", "enum": ["true"]},
    }
}

LOCATION = {"Location": {"description": "Path of the job.", "required": True, "schema": {"type": "string"}}}

PREFERENCE_APPLIED = {
    "Preference-Applied": {
        "description": "`wait=N`: the wait that was granted.",
        "schema": {"type": "string", "pattern": "^wait=[0-9.]+$"},
    }
}
