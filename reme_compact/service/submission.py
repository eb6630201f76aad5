"""Accept a compaction from an HTTP request: read, validate, record."""

from anyio import to_thread
from starlette.requests import Request

from reme_compact.compaction.deferred_collection import deferred_collection
from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.strict_json import parse_json
from reme_compact.jobs.deployment import JOB
from reme_compact.jobs.intake import accept
from reme_compact.jobs.record import Accepted
from reme_compact.service.body import as_object, check_headers, read_body
from reme_compact.service.state import ServiceState


async def accept_from(
    request: Request,
    state: ServiceState,
    *,
    idempotency_key: str | None,
    start_within_seconds: float | None = None,
    runs_from_acceptance: bool = False,
) -> Accepted:
    """Accept the compaction that a request's body asks for; the caller holds one of the service's slots meanwhile.

    Raises:
        ReMeError: the request is refused, and nothing of it is kept.
        ClientDisconnect: the client went away before its body was complete.

    """
    settings = state.preset.service
    check_headers(request.headers, settings.max_body_bytes)
    deployment, key = state.deployment, state.key_of(request)
    with state.reading():
        pieces = await read_body(request, settings.max_body_bytes, settings.request_read_seconds)
    asked, body = await to_thread.run_sync(_parse, pieces)
    return await accept(
        deployment,
        state.preset.execution,
        job=JOB,
        owner=key.name,
        request=asked,
        body=body,
        start_within_seconds=start_within_seconds,
        runs_from_acceptance=runs_from_acceptance,
        idempotency_key=idempotency_key,
        max_active_of_owner=key.max_active_jobs,
        clock=state.clock,
    )


def _parse(pieces: list[bytes]) -> tuple[CompactionRequest, bytes]:
    """Join and validate a body, in a worker thread, since a large one takes its time."""
    body = b"".join(pieces)
    pieces.clear()
    with deferred_collection():
        return CompactionRequest.parse(as_object(parse_json(body))), body
