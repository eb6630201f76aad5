"""The answers of `/jobs`, as the OpenAPI document describes them."""

from typing import Any, get_args

from reme_compact.contract import errors
from reme_compact.contract.job import EventType, JobDocument
from reme_compact.service.documented_failures import (
    ADMISSION,
    ANY_BODY,
    ANY_CHANGE,
    ANY_JOB,
    ANY_PATH,
    Responses,
    failures,
)
from reme_compact.service.documented_headers import LOCATION, PREFERENCE_APPLIED, REPLAYED, RETRY_AFTER
from reme_compact.service.event_stream import EVENT_ID_PATTERN

_EVENTS_EXAMPLE = """\
event: queued
data: {}
id: 1796083200000-0

event: started
data: {"attempt":1}
id: 1796083200004-0

event: planned
data: {"candidates":12,"asked":9,"batches":2}
id: 1796083200012-0

event: batch_scored
data: {"scored":5,"asked":9,"batches_scored":1,"batches":2,"error":null}
id: 1796083200350-0

: ping

event: batch_scored
data: {"scored":9,"asked":9,"batches_scored":2,"batches":2,"error":null}
id: 1796083200420-0

event: deciding
data: {}
id: 1796083200421-0

event: finished
data: {"status":"succeeded","error":null}
id: 1796083200430-0

"""

_EVENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": (
        "`finished` is the last event. A failure to go on is an event `error`, without an id, whose data are code, "
        "error, message and retryable. A comment shows every 15 seconds that the stream is alive."
    ),
    "properties": {
        "id": {"type": "string", "pattern": EVENT_ID_PATTERN},
        "event": {"type": "string", "enum": [*get_args(EventType), "error"]},
        "data": {"type": "string", "description": "A JSON object.", "contentMediaType": "application/json"},
    },
    "required": ["event", "data"],
}


def accepted_responses() -> Responses:
    """Describe the answers to a new job."""
    common = LOCATION | REPLAYED | PREFERENCE_APPLIED
    answers: Responses = {
        200: {"model": JobDocument, "description": "The job is finished already.", "headers": common},
        202: {"description": "The job goes on.", "headers": common | RETRY_AFTER},
    }
    return answers | failures(*ANY_CHANGE, *ANY_BODY, *ADMISSION)


def page_responses() -> Responses:
    """Describe the answers to a request for some jobs."""
    return failures(*ANY_PATH, errors.InvalidRequestError, errors.StoreUnavailableError, errors.ServiceStoppingError)


def job_responses() -> Responses:
    """Describe the answers to a request for one job."""
    return {200: {"description": "The job; while it is not finished, ask again.", "headers": RETRY_AFTER}} | failures(
        *ANY_PATH, *ANY_JOB
    )


def cancel_responses() -> Responses:
    """Describe the answers to a cancellation."""
    return {200: {"description": "The job, which is finished now.", "headers": RETRY_AFTER}} | failures(
        *ANY_CHANGE, *ANY_JOB
    )


def result_responses() -> Responses:
    """Describe the answers to a request for a result: the proposal, or whatever the job failed with."""
    return {200: {"description": "The proposal of a job that succeeded."}} | failures(
        *ANY_PATH,
        *ANY_JOB,
        errors.JobNotFinishedError,
        errors.JobCancelledError,
        errors.InvalidRequestError,
        errors.TokenCounterError,
        errors.MissingExtraError,
        errors.StartTimeoutError,
    )


def event_responses() -> Responses:
    """Describe the answers to a request for events."""
    stream = {"text/event-stream": {"itemSchema": _EVENT_SCHEMA, "example": _EVENTS_EXAMPLE}}
    return {200: {"description": "What happens to the job.", "content": stream}} | failures(
        *ANY_PATH, *ANY_JOB, errors.InvalidRequestError, errors.TooBusyError
    )
