"""The paths that the service answers."""

from collections.abc import AsyncIterator
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from anyio import to_thread
from fastapi import APIRouter
from fastapi.responses import JSONResponse
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.strict_json import parse_json
from reme_compact.service.body import as_object, check_headers, read_body
from reme_compact.service.disconnect import while_connected
from reme_compact.service.json_bytes import response_pieces
from reme_compact.service.openapi import REQUEST_BODY, CompactionResponse, proposal_responses
from reme_compact.service.readiness import Liveness, Readiness, readiness
from reme_compact.service.state import ServiceState

if TYPE_CHECKING:
    from reme_compact.compaction.step import CompactContextStep


def build_router(state: ServiceState) -> APIRouter:
    """Bind the paths to one service's state."""
    router = APIRouter(redirect_slashes=False, default_response_class=JSONResponse)

    @router.get("/health", operation_id="health", response_model=Liveness, summary="Is the process alive?")
    async def health() -> Response:
        return _json(Liveness(version=version("reme-compact")).model_dump_json().encode())

    @router.get(
        "/ready",
        operation_id="ready",
        response_model=Readiness,
        response_description="The last decision request worked, or none is known.",
        responses={503: {"model": Readiness, "description": "The last decision request failed."}},
        summary="Which decision model is used, and did it last work?",
    )
    async def ready() -> Response:
        now = readiness(state)
        return _json(now.model_dump_json().encode(), 200 if now.status == "ready" else 503)

    @router.post(
        "/compact_context",
        operation_id="compact_context",
        response_model=CompactionResponse,
        responses=proposal_responses(),
        openapi_extra={"requestBody": REQUEST_BODY},
        summary="Propose a smaller history",
    )
    async def compact_context(request: Request) -> Response:
        """Judge old tool results and propose previews for those that are no longer needed.

        Closing the connection cancels the work.
        """
        settings = state.preset.service
        check_headers(request.headers, settings.max_body_bytes)
        with state.slots.take():
            body = await read_body(request, settings.max_body_bytes, settings.request_read_seconds)
            return _in_pieces(await while_connected(request.receive, partial(_propose, state.step, body)))

    return router


async def _propose(step: "CompactContextStep", body: bytearray) -> list[bytes]:
    """Parse, compact and serialise; what takes time on a large history happens in worker threads."""
    request = await to_thread.run_sync(_parse, body)
    body.clear()
    response = await step.run(request)
    return await to_thread.run_sync(response_pieces, dict(response))


def _parse(body: bytearray) -> CompactionRequest:
    return CompactionRequest.parse(as_object(parse_json(body)))


def _json(content: bytes, status: int = 200) -> Response:
    return Response(content, status, media_type="application/json")


def _in_pieces(pieces: list[bytes]) -> Response:
    """Send a large body bit by bit, so that other requests get their turn meanwhile."""
    if len(pieces) == 1:
        return _json(pieces[0])
    headers = {"content-length": str(sum(map(len, pieces)))}
    return StreamingResponse(_one_by_one(pieces), 200, headers, media_type="application/json")


async def _one_by_one(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
