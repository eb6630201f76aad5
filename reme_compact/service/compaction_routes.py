"""`POST /compact_context`: a job that the client waits for."""

import logging
from functools import partial
from http import HTTPStatus

from anyio import CancelScope, move_on_after
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from reme_compact.contract.errors import ReMeError, ReportedError
from reme_compact.contract.exception_places import exception_places
from reme_compact.jobs.store import JobStore
from reme_compact.jobs.waiting import wait_until_final
from reme_compact.service.answers import answer_in_pieces
from reme_compact.service.disconnect import while_connected
from reme_compact.service.documented_compaction import REQUEST_BODY, CompactionResponse, proposal_responses
from reme_compact.service.documented_headers import IDEMPOTENCY_KEY
from reme_compact.service.idempotency import idempotency_key, replay_headers
from reme_compact.service.problems import problem_of_job
from reme_compact.service.state import ServiceState
from reme_compact.service.submission import accept_from

logger = logging.getLogger(__name__)

_FORGETTING_SECONDS = 2


def compaction_routes(state: ServiceState) -> APIRouter:
    """Bind the path to one service's state."""
    router = APIRouter(redirect_slashes=False)

    @router.post(
        "/compact_context",
        operation_id="compact_context",
        response_model=CompactionResponse,
        responses=proposal_responses(),
        openapi_extra={"parameters": [IDEMPOTENCY_KEY], "requestBody": REQUEST_BODY},
        summary="Propose a smaller history, and wait for it",
    )
    async def compact_context(request: Request) -> Response:
        """Judge old tool results and propose previews for those that are no longer needed.

        Closing the connection cancels the work, unless it has an Idempotency-Key: with one, the same request sent
        again gets the answer of the first.
        """
        key = idempotency_key(request.headers)
        with state.slots.take():
            accepted = await accept_from(request, state, idempotency_key=key, runs_from_acceptance=True)
            store, job_id = state.deployment.store, accepted.document.id
            wait = partial(_wait_for_result, store, job_id, state.owner_of(request))
            try:
                pieces = await while_connected(request.receive, wait)
            except ReportedError as error:
                return problem_of_job(job_id, error, _status_of_unknown(error))
            finally:
                if key is None:
                    await _leave_nothing(store, job_id)
            return answer_in_pieces(pieces, replay_headers(accepted))

    return router


async def _wait_for_result(store: JobStore, job_id: str, owner: str) -> list[bytes]:
    await wait_until_final(store, job_id, owner, None)
    return await store.result(job_id, owner)


async def _leave_nothing(store: JobStore, job_id: str) -> None:
    """Cancel a job that nobody waits for any more, if it still runs, and remove it."""
    with CancelScope(shield=True), move_on_after(_FORGETTING_SECONDS):
        try:
            await store.cancel(job_id, None)
            await store.forget(job_id)
        except ReMeError as error:
            logger.warning(
                "a job stays recorded until it expires", extra={"job_id": job_id, "exception": exception_places(error)}
            )


def _status_of_unknown(error: ReportedError) -> HTTPStatus:
    """Tell our own unforeseen failures from what an embedded step reports of others."""
    is_ours = error.code == "internal_error"
    return HTTPStatus.INTERNAL_SERVER_ERROR if is_ours else HTTPStatus.BAD_GATEWAY
