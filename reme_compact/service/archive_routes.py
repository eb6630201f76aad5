"""`GET /archive/...`: read back what a preview stands for."""

import logging
import time
from functools import partial

import anyio
from anyio import to_thread
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from reme_compact.contract.errors import ArchiveDamagedError, NoArchiveError, ReferenceNotFoundError
from reme_compact.jobs.record import session_owner
from reme_compact.service.answers import json_answer
from reme_compact.service.documented_archive import PATH_PARAMETERS, OriginalPiece, piece_responses
from reme_compact.service.originals import read_piece, seconds_until_refusal
from reme_compact.service.query import PieceQuery, query_parameters, read_query
from reme_compact.service.state import ServiceState

logger = logging.getLogger(__name__)

_HEADERS = {"Cache-Control": "private, no-store"}


def archive_routes(state: ServiceState) -> APIRouter:
    """Bind the paths to one service's state."""
    router = APIRouter(redirect_slashes=False)

    @router.get(
        "/archive/{session_id}/{content}",
        operation_id="read_original",
        response_model=OriginalPiece,
        responses=piece_responses(),
        openapi_extra={"parameters": [*PATH_PARAMETERS, *query_parameters(PieceQuery)]},
        summary="Read an original back",
    )
    async def read_original(request: Request) -> Response:
        """Return a piece of the original that a preview stands for; the path is its reference.

        The whole reference may also follow `/archive/`, with its slashes escaped or not. It opens for the API key
        that the original was archived with, and for administrators.
        """
        parts = request.path_params
        return await _read(request, state, f"archive/{parts['session_id']}/{parts['content']}")

    @router.get("/archive/{reference:path}", include_in_schema=False)
    async def read_by_whole_reference(request: Request) -> Response:
        return await _read(request, state, request.path_params["reference"])

    return router


async def _read(request: Request, state: ServiceState, reference: str) -> Response:
    query = read_query(request, PieceQuery)
    archive = state.deployment.archive
    if archive is None:
        raise NoArchiveError(
            "This service keeps no originals: its preset has no archive.location. What stands behind the source_refs "
            "of a host, only that host can read back."
        )
    viewer = state.viewer_of(request)
    owner = None if viewer is None else session_owner(viewer)
    read = partial(read_piece, archive, reference, owner=owner, query=query)
    began = time.monotonic()
    try:
        with state.archive_slots.take():
            piece = await to_thread.run_sync(read, limiter=state.archive_threads, abandon_on_cancel=True)
    except ReferenceNotFoundError:
        await anyio.sleep(seconds_until_refusal(time.monotonic() - began))
        raise
    except ArchiveDamagedError:
        logger.warning("an original is damaged and was not handed out; `reme archive verify` names what is")
        raise
    return json_answer(piece, headers=_HEADERS)
